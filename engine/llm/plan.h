// Plans: a model's plan for a variant, made before any code, and a person's decision on it
// (engine/llm/README.md).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/core/result.h"
#include "engine/search/proposal/adoption.h"
#include "engine/search/proposal/plan_file.h"

namespace evolve::llm {

// A plan, or the reason why the plan is missing.
struct Plan {
  std::string text;
  std::optional<search::Problem> problem;
};

// Reads a model's plan from the plan's prompt.json and exchange.json. Problem: the rejection of the
// prompt or the exchange, `empty`, or `truncated`. Bad input: the two records do not belong
// together.
Result<Plan> planned_by(const nlohmann::json& prompt, const nlohmann::json& exchange);
// Returns the plan to carry out. Problem `plan-rejected`: the person rejected the plan. A plan with
// a problem of its own stays as it is, and the person is not asked.
Plan decided(Plan planned, const search::PlanFile& decision);

// Converts a plan to plan.json, and back. External error: the record is not a plan.json.
nlohmann::json plan_record(const Plan& plan, const nlohmann::json& prompt,
                           const nlohmann::json& exchange);
Result<Plan> read_plan(const nlohmann::json& record);

}  // namespace evolve::llm
