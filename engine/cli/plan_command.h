// `evolve plan`: what language models mean to do, and a person's word on it before any code is
// asked for.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/app/authors/plans.h"
#include "engine/cli/common_options.h"

namespace evolve::cli {

nlohmann::json plan_report(const VariantPlan& plan);
// A row for each plan.
std::string plan_table(const std::vector<VariantPlan>& plans);
// Writes a person's word on a plan, and says so.
Status decide(const CommonOptions& common, const Campaign& campaign, const VariantPlan& plan,
              const search::PlanFile& decision);

}  // namespace evolve::cli
