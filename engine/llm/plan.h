// A model's plan for a variant, before any code: what its reply gives, and what became of it with a
// person's word on it (engine/llm/README.md).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/core/result.h"
#include "engine/search/proposal/adoption.h"
#include "engine/search/proposal/plan_file.h"

namespace evolve::llm {

// A plan, or why there is none.
struct Plan {
  std::string text;
  std::optional<search::Problem> problem;
};

// What a model planned, by the plan's prompt.json and exchange.json. Problem: what the prompt or
// the exchange was rejected for, `empty` or `truncated`. Bad input: they do not belong together.
Result<Plan> planned_by(const nlohmann::json& prompt, const nlohmann::json& exchange);
// The plan that is carried out. Problem `plan-rejected` besides its own: the person said so. Where
// there is one, nothing is asked of the person.
Plan decided(Plan planned, const search::PlanFile& decision);

// plan.json of such a plan, and read back; an external error where it is not one.
nlohmann::json plan_record(const Plan& plan, const nlohmann::json& prompt,
                           const nlohmann::json& exchange);
Result<Plan> read_plan(const nlohmann::json& record);

}  // namespace evolve::llm
