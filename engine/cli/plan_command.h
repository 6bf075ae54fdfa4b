// `evolve plan`: what language models mean to do, and a person's word on it before any code is
// asked for.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/cli/commands.h"
#include "engine/cli/plans.h"

namespace evolve::cli {

struct PlanCommand {
  std::vector<std::string> variants;
  std::string note;  // of a rejection the reason
};

// Lists all plans that were written, or shows that of the one variant that is named.
Status run_plan_show(const CommonOptions& common, const PlanCommand& command);
// Approves plans as they stand: as the model wrote them, or as a person edited them before.
Status run_plan_approve(const CommonOptions& common, const PlanCommand& command);
// Rejects plans: no code is asked for.
Status run_plan_reject(const CommonOptions& common, const PlanCommand& command);
// Opens an editor ($VISUAL, $EDITOR, or vi) on a plan, and approves what was made of it.
Status run_plan_edit(const CommonOptions& common, const PlanCommand& command);

nlohmann::json plan_report(const VariantPlan& plan);
// A row for each plan.
std::string plan_table(const std::vector<VariantPlan>& plans);
// Writes a person's word on a plan, and says so.
Status decide(const CommonOptions& common, const Campaign& campaign, const VariantPlan& plan,
              const search::PlanFile& decision);

}  // namespace evolve::cli
