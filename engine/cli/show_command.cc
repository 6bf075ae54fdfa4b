// `evolve show`: a variant's origin, verdicts and times, and which variant paid for each step.
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/app/campaign_report.h"
#include "engine/app/open_campaign.h"
#include "engine/app/results.h"
#include "engine/cli/commands.h"
#include "engine/report/campaign_text.h"
#include "engine/report/output.h"

namespace evolve::cli {

namespace {

Status run_show(const CommonOptions& common, const std::string& variant) {
  TRY_ASSIGN(auto opened, open_for_build(common));
  const Campaign& campaign = opened.campaign;
  TRY(built_folder(campaign, variant));
  TRY_ASSIGN(auto report, variant_report(campaign, variant, *opened.state->ledger));
  print_result(common, report, variant_text(report));
  return {};
}

}  // namespace

void add_show(Commands& commands) {
  auto command = commands.add("show",
                              "show a variant: its origin, verdicts and times, and "
                              "which variant each step was first run for");
  auto variant = std::make_shared<std::string>();
  command
      .add("variant", *variant,
           "the variant, for example v0007; or xla, the reference as XLA compiles it")
      .names("variant")
      .required();
  commands.add_common(command);
  commands.on(command,
              [variant](const CommonOptions& common) { return run_show(common, *variant); });
}

}  // namespace evolve::cli
