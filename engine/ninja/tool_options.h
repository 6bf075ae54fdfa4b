// The options of a tool, read by getopt as Ninja reads them.
#pragma once

#include <getopt.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace evolve::ninja {

// A command line as getopt wants it, and permutes it; the program is called "ninja" in its
// messages.
class GetoptWords {
 public:
  explicit GetoptWords(const std::vector<std::string>& arguments) : words_({"ninja"}) {
    words_.insert(words_.end(), arguments.begin(), arguments.end());
    argv_.reserve(words_.size() + 1);
    for (std::string& word : words_) argv_.push_back(word.data());
    argv_.push_back(nullptr);
    optind = 0;
  }
  // The next option, as getopt_long tells it; -1 behind the last.
  int next(const char* letters, const option* long_options) {
    return ::getopt_long(static_cast<int>(words_.size()), argv_.data(), letters, long_options,
                         nullptr);
  }
  // What is no option, once they were taken.
  [[nodiscard]] std::vector<std::string> rest() const {
    return {argv_.begin() + optind, argv_.end() - 1};
  }

 private:
  std::vector<std::string> words_;
  std::vector<char*> argv_;
};

// Calls `take(option, value)` for each option; false from it means that it asks for the tool's
// usage or is unknown. Returns what is no option; nullopt where the usage is to be printed.
template <typename Take>
std::optional<std::vector<std::string>> read_tool_options(const std::vector<std::string>& arguments,
                                                          const char* letters,
                                                          std::vector<option> long_options,
                                                          Take take) {
  GetoptWords words(arguments);
  long_options.push_back({nullptr, 0, nullptr, 0});
  int found = 0;
  while ((found = words.next(letters, long_options.data())) != -1) {
    if (!take(found, optarg)) return std::nullopt;
  }
  return words.rest();
}

// Of options that are letters alone: sets the flag of each that is given. As read_tool_options().
inline std::optional<std::vector<std::string>> read_tool_flags(
    const std::vector<std::string>& arguments, const std::map<char, bool*>& flags) {
  std::string letters = "h";
  for (const auto& [letter, flag] : flags) letters += letter;
  return read_tool_options(arguments, letters.c_str(), {}, [&](int option, const char*) {
    auto found = flags.find(static_cast<char>(option));
    if (found == flags.end()) return false;
    *found->second = true;
    return true;
  });
}

}  // namespace evolve::ninja
