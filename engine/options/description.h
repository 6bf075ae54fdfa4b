// The table of a program's commands and options, as its help, its completion and its manual pages
// show them.
#pragma once

#include <string>
#include <vector>

namespace evolve::options {

struct OptionInfo {
  std::vector<std::string> names;  // "-p", "--pipeline"; empty: words without a name
  std::string word;                // what the help calls the value: "TEXT", or "target"
  std::string help;
  bool takes_value = true;
  bool is_list = false;  // takes several words
  bool is_required = false;
  std::vector<std::string> choices;  // the only values; empty: others are allowed
  std::string kind;                  // what the value names: "round"; empty: not said
  std::string variable;              // the environment variable with the default; empty: none
};

struct CommandInfo {
  std::string name;
  std::string help;
  std::vector<OptionInfo> options;    // in the order of the help
  std::vector<OptionInfo> words;      // the words without a name, in their order
  std::vector<CommandInfo> commands;  // without those that the help does not show
  bool needs_command = false;         // one of `commands` must be named
};

}  // namespace evolve::options
