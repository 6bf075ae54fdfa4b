// `evolve why`: what a build would run and why, and what the last build ran.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/app/authors/targets.h"
#include "engine/app/open_campaign.h"
#include "engine/app/why.h"
#include "engine/cli/commands.h"
#include "engine/report/why_text.h"

namespace evolve::cli {

namespace {

// Prints what a build would run and why. Empty `target`: the campaign's last round.
Status run_why(const CommonOptions& common, const std::string& target) {
  TRY_ASSIGN(auto opened, open_for_build(common));
  auto targets =
      find_targets(opened, target.empty() ? std::vector<std::string>{} : std::vector{target});
  if (!targets) return std::move(targets).error();
  TRY_ASSIGN(auto explanation, Why(opened, *targets).explanation());
  nlohmann::json report = explanation_json(explanation);
  report["target"] = target;
  print_result(common, report, explanation_text(explanation));
  return {};
}

}  // namespace

void add_why(Commands& commands) {
  auto command =
      commands.add("why", "show what a build would run and why, and what the last build ran");
  auto target = std::make_shared<std::string>();
  command
      .add("target", *target,
           "the target of the build: round-N, a variant such as v0007, or a file "
           "(default: the last round)")
      .names("target");
  commands.add_common(command);
  commands.on(command, [target](const CommonOptions& common) { return run_why(common, *target); });
}

}  // namespace evolve::cli
