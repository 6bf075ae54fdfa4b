// `evolve why`.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/app/authors/targets.h"
#include "engine/app/open_campaign.h"
#include "engine/app/why.h"
#include "engine/cli/command_line.h"
#include "engine/report/why_text.h"

namespace evolve::cli {

namespace {

// Prints what a build would run and why. Empty `target`: the campaign's last round.
Status run_why(const CommonOptions& common, const std::string& target) {
  TRY_ASSIGN(auto opened, open_for_build(common));
  auto targets =
      find_targets(opened, target.empty() ? std::vector<std::string>{} : std::vector{target});
  if (!targets) return std::move(targets).error();
  Why why(opened, *targets);
  TRY_ASSIGN(auto pending, why.pending());
  TRY_ASSIGN(auto stored, why.stored());
  TRY_ASSIGN(auto last, why.last_build());
  print_result(common,
               {{"target", target}, {"pending", pending}, {"stored", stored}, {"last_build", last}},
               (pending.empty() ? "nothing to do\n" : pending_text(pending)) +
                   stored_text(stored, pending.empty()) + last_build_text(last, pending.empty()));
  return {};
}

}  // namespace

void add_why(CommandLine& line) {
  auto* command = line.app().add_subcommand(
      "why", "show what a build would run and why, and what the last build ran");
  auto target = std::make_shared<std::string>();
  command->add_option("target", *target, "round-N, vNNNN, or a file (default: the last round)");
  line.add_common(*command);
  line.on(*command, [target](const CommonOptions& common) { return run_why(common, *target); });
}

}  // namespace evolve::cli
