#include "engine/llm/plan.h"

#include "engine/core/json_read.h"
#include "engine/llm/record.h"
#include "engine/llm/reply.h"

namespace evolve::llm {

namespace {

using nlohmann::json;

}  // namespace

Result<Plan> planned_by(const json& prompt, const json& exchange) {
  if (auto status = check_answers(prompt, exchange); !status) return status.error();
  if (auto problem = rejection_of(prompt, exchange)) return Plan{"", std::move(problem)};
  PlanReply reply = read_plan_reply(text_at(exchange, "text"), finish_of(exchange));
  return Plan{std::move(reply.plan), std::move(reply.problem)};
}

Plan decided(Plan planned, const search::PlanFile& decision) {
  if (planned.problem) return planned;
  if (!decision.is_approved) return {"", search::Problem{"plan-rejected", decision.note}};
  return {decision.plan, std::nullopt};
}

json plan_record(const Plan& plan, const json& prompt, const json& exchange) {
  const Spent spent = spent_on(prompt, exchange);
  json out = {{"verdict", "ok"},
              {"variant", text_at(prompt, "variant")},
              {"exchange", {{"cost_usd", spent.cost_usd}, {"tokens", spent.tokens}}}};
  if (plan.problem) {
    out["verdict"] = "rejected";
    out["kind"] = plan.problem->kind;
    out["reason"] = plan.problem->reason;
  } else {
    out["plan"] = plan.text;
  }
  return out;
}

Result<Plan> read_plan(const json& record) {
  const std::string verdict = text_at(record, "verdict");
  if (verdict == "rejected") {
    return Plan{"", search::Problem{text_at(record, "kind"), text_at(record, "reason")}};
  }
  Plan out = {text_at(record, "plan"), std::nullopt};
  if (verdict != "ok" || out.text.empty()) return external("not a plan.json");
  return out;
}

}  // namespace evolve::llm
