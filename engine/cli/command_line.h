// The command line of `evolve`: what its commands have in common, and which of them was asked for.
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
  // Options refer to it.
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  CLI::App& app() { return app_; }

  // Options of every command that works on a campaign.
  void add_common(CLI::App& command);
  // Those of a command that needs no campaign: -C and --json.
  void add_folder_and_json(CLI::App& command);
  // --local: all steps run on this machine.
  void add_local(CLI::App& command);
  // --json only.
  void add_json(CLI::App& command);

  // What runs where `command` is the last command that the user names.
  using Run = std::function<Status(const CommonOptions&)>;
  void on(CLI::App& command, Run run);

  // Runs the command that was asked for, in the folder that -C says. REQUIRES: app() has parsed.
  Status run();
  [[nodiscard]] const CommonOptions& common() const { return common_; }

 private:
  CLI::App app_;
  CommonOptions common_;
  std::string color_ = "auto";
  std::string folder_;
  Run chosen_;
};

// Whether messages have colour: "auto", "always" or "never".
bool wants_color(const std::string& choice);

// "3" or "round-3", from 1; 0 for an empty text.
Result<int> round_number(const std::string& text);

#define COMMAND(name) void add_##name(CommandLine& line);
#include "engine/cli/commands.inc"
#undef COMMAND

}  // namespace evolve::cli
