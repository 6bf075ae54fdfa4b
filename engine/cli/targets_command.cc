// `evolve targets`.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/campaign/target.h"
#include "engine/cli/command_line.h"

namespace evolve::cli {

namespace {

// Prints the targets that a pipeline may name.
Status run_targets(const CommonOptions& common) {
  nlohmann::json report = nlohmann::json::array();
  std::string text;
  for (const Target& target : targets()) {
    report.push_back({{"target", target.name}, {"device", target.device_kind}});
    text += fmt::format("{:8}{}\n", target.name, target.device_kind);
  }
  print_result(common, report, text);
  return {};
}

}  // namespace

void add_targets(CommandLine& line) {
  auto* command = line.app().add_subcommand("targets", "list the targets that a pipeline may name");
  line.add_json(*command);
  line.on(*command, run_targets);
}

}  // namespace evolve::cli
