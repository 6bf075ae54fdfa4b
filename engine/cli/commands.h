// The commands of `evolve`: the options that they share, and the command that the user chose.
//
// A command has a file of its own, NAME_command.cc, which defines add_NAME(Commands&), and a line
// in commands.inc.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/cli/common_options.h"
#include "engine/options/command_line.h"

namespace evolve::cli {

using options::Parser;

class Commands {
 public:
  Commands();
  // Not copyable, because options refer to this object.
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  // Adds a command to `evolve`.
  Parser add(const std::string& name, const std::string& help) {
    return line_.add_command(name, help);
  }

  // Adds the options of every command that works on a campaign.
  void add_common(Parser command);
  // Adds the options of a command that needs no campaign: -C and --json.
  void add_folder_and_json(Parser command);
  // Adds --local: all steps run on this machine.
  void add_local(Parser command);
  // Adds --jobs: how many steps run in parallel; 0: one for each core.
  static void add_jobs(Parser command, int& jobs);
  // Adds --check-determinism: how often pure steps run again; 0: not at all. `when`: what the help
  // says first, as "after the build, ".
  static void add_determinism(Parser command, int& times, const std::string& when = "");
  // Adds only --json.
  void add_json(Parser command);

  // on() sets the function to run if `command` is the last command that the user names.
  using Run = std::function<Status(const CommonOptions&)>;
  void on(Parser command, const Run& run);

  // Returns the table of all commands and options.
  [[nodiscard]] options::CommandInfo describe() const { return line_.describe(); }
  // Parses the words after the program's name (options::CommandLine::parse).
  [[nodiscard]] Result<std::optional<std::string>> parse(const std::vector<std::string>& words) {
    return line_.parse(words);
  }
  // Runs the chosen command in the folder that -C names. REQUIRES: parse() returned nullopt.
  Status run();
  [[nodiscard]] const CommonOptions& common() const { return common_; }

 private:
  options::CommandLine line_;
  CommonOptions common_;
  std::string color_ = "auto";
  std::string folder_;
  std::string python_;
};

// Whether messages have colour. `choice`: "auto", "always" or "never".
bool wants_color(const std::string& choice);

// Reads the number of a round, at least 1, from "3" or "round-3"; an empty text gives 0.
Result<int> round_number(const std::string& text);

#define COMMAND(name) void add_##name(Commands& commands);
#include "engine/cli/commands.inc"
#undef COMMAND

}  // namespace evolve::cli
