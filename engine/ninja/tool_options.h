// The options of a tool, read by getopt as Ninja reads them.
#pragma once

#include <getopt.h>

#include <optional>
#include <string>
#include <vector>

namespace evolve::ninja {

// Calls `take(option, value)` for each option; false from it means that it asks for the tool's
// usage or is unknown. Returns what is no option; nullopt where the usage is to be printed.
template <typename Take>
std::optional<std::vector<std::string>> read_tool_options(const std::vector<std::string>& arguments,
                                                          const char* letters,
                                                          std::vector<option> long_options,
                                                          Take take) {
  std::vector<std::string> words = {"ninja"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  long_options.push_back({nullptr, 0, nullptr, 0});
  optind = 0;
  int found = 0;
  while ((found = ::getopt_long(static_cast<int>(words.size()), argv.data(), letters,
                                long_options.data(), nullptr)) != -1) {
    if (!take(found, optarg)) return std::nullopt;
  }
  std::vector<std::string> rest;
  for (size_t i = static_cast<size_t>(optind); i < words.size(); ++i) rest.emplace_back(argv[i]);
  return rest;
}

}  // namespace evolve::ninja
