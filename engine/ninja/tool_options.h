// The options of a tool, read by getopt as Ninja reads them.
#pragma once

#include <getopt.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace evolve::ninja {

// A command line in the form that getopt wants; getopt permutes it. In getopt's messages the
// program is called "ninja".
class GetoptWords {
 public:
  explicit GetoptWords(const std::vector<std::string>& arguments) : words_({"ninja"}) {
    words_.insert(words_.end(), arguments.begin(), arguments.end());
    argv_.reserve(words_.size() + 1);
    for (std::string& word : words_) argv_.push_back(word.data());
    argv_.push_back(nullptr);
    optind = 0;
  }
  // Returns the next option as getopt_long gives it; -1: no more options.
  int next(const char* letters, const option* long_options) {
    return ::getopt_long(static_cast<int>(words_.size()), argv_.data(), letters, long_options,
                         nullptr);
  }
  // Returns the words that are not options. REQUIRES: next() has returned -1.
  [[nodiscard]] std::vector<std::string> rest() const {
    return {argv_.begin() + optind, argv_.end() - 1};
  }

 private:
  std::vector<std::string> words_;
  std::vector<char*> argv_;
};

// Calls `take(option, value)` for each option. `take` returns false if the option asks for the
// tool's usage or is unknown. Returns the words that are not options. Nullopt: the usage must be
// printed.
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

// Reads options that are single letters, and sets the flag of each given letter. Returns the same
// as read_tool_options().
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
