// `evolve plan`: the plans of language models, and a person's decision on each plan before any code
// is asked for.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/app/authors/plans.h"
#include "engine/cli/common_options.h"

namespace evolve::cli {

nlohmann::json plan_report(const VariantPlan& plan);
// Returns a table with a row for each plan.
std::string plan_table(const std::vector<VariantPlan>& plans);
// Writes a person's decision on a plan, and reports it.
Status decide(const CommonOptions& common, const Campaign& campaign, const VariantPlan& plan,
              const search::PlanFile& decision);

}  // namespace evolve::cli
