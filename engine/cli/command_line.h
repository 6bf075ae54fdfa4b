// The command line of `evolve`: the options that its commands share, and the command that the user
// chose.
//
// A command has a file of its own, NAME_command.cc, which defines add_NAME(CommandLine&), and a
// line in commands.inc.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "engine/cli/common_options.h"

namespace evolve::cli {

class CommandLine {
 public:
  CommandLine();
  // Not copyable, because options refer to this object.
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  CLI::App& app() { return app_; }

  // Adds the options of every command that works on a campaign.
  void add_common(CLI::App& command);
  // Adds the options of a command that needs no campaign: -C and --json.
  void add_folder_and_json(CLI::App& command);
  // Adds --local: all steps run on this machine.
  void add_local(CLI::App& command);
  // Adds only --json.
  void add_json(CLI::App& command);

  // on() sets the function to run if `command` is the last command that the user names.
  using Run = std::function<Status(const CommonOptions&)>;
  void on(CLI::App& command, Run run);

  // Runs the chosen command in the folder that -C names. REQUIRES: app() has parsed.
  Status run();
  [[nodiscard]] const CommonOptions& common() const { return common_; }

 private:
  CLI::App app_;
  CommonOptions common_;
  std::string color_ = "auto";
  std::string folder_;
  Run chosen_;
};

// Whether messages have colour. `choice`: "auto", "always" or "never".
bool wants_color(const std::string& choice);

// Reads the number of a round, at least 1, from "3" or "round-3"; an empty text gives 0.
Result<int> round_number(const std::string& text);

#define COMMAND(name) void add_##name(CommandLine& line);
#include "engine/cli/commands.inc"
#undef COMMAND

}  // namespace evolve::cli
