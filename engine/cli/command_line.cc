#include "engine/cli/command_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "engine/report/terminal.h"

namespace evolve::cli {

CommandLine::CommandLine()
    : app_("evolve: a build engine that evolves accelerator kernels", "evolve") {
  app_.require_subcommand(1);
  app_.set_help_flag("-h,--help", "print this help");
  app_.set_version_flag("--version", "evolve " EVOLVE_VERSION, "print the version");
  app_.add_option("-C", folder_, "change to this folder before doing anything else");
#define COMMAND(name) add_##name(*this);
#include "engine/cli/commands.inc"
#undef COMMAND
}

void CommandLine::add_common(CLI::App& command) {
  command.add_option("-p,--pipeline", common_.campaign.pipeline,
                     "the campaign's pipeline file (default: the only one in . and pipelines/)");
  command
      .add_option("--state", common_.campaign.state,
                  "the state folder, which keeps results and records (default: $EVOLVE_STATE, or "
                  ".evolve next to the pipeline)")
      ->envname("EVOLVE_STATE");
  command.add_flag_callback(
      "--unsafe-no-sandbox", [this] { common_.campaign.is_sandboxed = false; },
      "run the variants' code without the sandbox, with all of your permissions");
  add_folder_and_json(command);
  command.add_option("--color", color_, "when to use color in messages (default: auto)")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

void CommandLine::add_folder_and_json(CLI::App& command) {
  command.add_option("-C", folder_, "change to this folder before doing anything else");
  add_json(command);
}

void CommandLine::add_local(CLI::App& command) {
  command.add_flag(
      "--local", common_.campaign.is_local,
      "run all steps on this machine, even those that the pipeline sends to a cluster");
}

void CommandLine::add_json(CLI::App& command) {
  command.add_flag("--json", common_.json, "print JSON");
}

void CommandLine::on(CLI::App& command, Run run) {
  // CLI11 calls the callback of the last command first, so the later calls do not count.
  command.callback([this, run = std::move(run)] {
    if (!chosen_) chosen_ = run;
  });
}

Status CommandLine::run() {
  common_.color = wants_color(color_);
  common_.warn = [this](const std::string& message) { print_warning(message, common_.color); };
  if (!folder_.empty() && ::chdir(folder_.c_str()) != 0)
    return bad_input(fmt::format("-C {}: no such folder", folder_));
  return chosen_(common_);
}

bool wants_color(const std::string& choice) {
  if (choice == "always") return true;
  if (choice == "never" || std::getenv("NO_COLOR") != nullptr) return false;
  return std::getenv("CLICOLOR_FORCE") != nullptr || is_terminal(STDERR_FILENO);
}

Result<int> round_number(const std::string& text) {
  if (text.empty()) return 0;
  std::string digits = text.starts_with("round-") ? text.substr(6) : text;
  bool is_number = !digits.empty() && digits.size() < 7 &&
                   digits.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || std::stoi(digits) == 0) {
    return bad_input(fmt::format("'{}' is not a round", text), "",
                     "name a round as N or round-N, for example: evolve log 3");
  }
  return std::stoi(digits);
}

}  // namespace evolve::cli
