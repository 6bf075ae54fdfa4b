#include "engine/cli/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "engine/report/terminal.h"

namespace evolve::cli {

Commands::Commands()
    : line_("evolve", "evolve: a build engine that evolves accelerator kernels",
            "evolve " EVOLVE_VERSION) {
  line_.require_command();
  line_.add("-C", folder_, "change to this folder before doing anything else");
#define COMMAND(name) add_##name(*this);
#include "engine/cli/commands.inc"
#undef COMMAND
}

void Commands::add_common(Parser command) {
  command
      .add("-p,--pipeline", common_.campaign.pipeline,
           "the campaign's pipeline file (default: $EVOLVE_PIPELINE, or the only one in . and "
           "pipelines/, or the one that was built last)")
      .names("pipeline");
  command
      .add("--state", common_.campaign.state,
           "the state folder, which keeps results and records (default: $EVOLVE_STATE, or "
           ".evolve next to the pipeline)")
      .from_environment("EVOLVE_STATE");
  command
      .add("--python", python_,
           "the Python interpreter of the steps (default: $EVOLVE_PYTHON, or the pipeline's "
           "toolchain.python, or the active virtual environment's if JAX is installed there, or "
           "our own)")
      .from_environment("EVOLVE_PYTHON");
  command.add_off("--unsafe-no-sandbox", common_.campaign.is_sandboxed,
                  "run the variants' code without the sandbox, with all of your permissions");
  add_folder_and_json(command);
  command.add("--color", color_, "when to use color in messages (default: auto)")
      .one_of({"auto", "always", "never"});
}

void Commands::add_folder_and_json(Parser command) {
  command.add("-C", folder_, "change to this folder before doing anything else");
  add_json(command);
}

void Commands::add_local(Parser command) {
  command.add("--local", common_.campaign.is_local,
              "run all steps on this machine, even those that the pipeline sends to a cluster");
}

void Commands::add_jobs(Parser command, int& jobs) {
  command.add("-j,--jobs", jobs, "number of steps to run in parallel (default: number of cores)")
      .between(1, 1024);
}

void Commands::add_determinism(Parser command, int& times, const std::string& when) {
  command
      .add("--check-determinism", times,
           when +
               "run every pure step (one that must always give the same bytes) this many times "
               "in different environments, and compare the bytes")
      .between(1, 100);
}

void Commands::add_json(Parser command) {
  command.add("--json", common_.json, "print JSON");
}

void Commands::on(Parser command, const Run& run) {
  command.set_action([this, run] { return run(common_); });
}

Status Commands::run() {
  common_.color = wants_color(color_);
  common_.campaign.tell = [](const std::string& message) {
    print_err(fmt::format("evolve: {}\n", message));
  };
  common_.warn = [this](const std::string& message) { print_warning(message, common_.color); };
  // Every part of the program that starts Python reads this variable.
  if (!python_.empty()) ::setenv("EVOLVE_PYTHON", python_.c_str(), 1);
  if (!folder_.empty() && ::chdir(folder_.c_str()) != 0)
    return bad_input(fmt::format("-C {}: no such folder", folder_));
  return line_.run();
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
