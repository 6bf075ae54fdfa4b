#include "engine/app/authors/plans.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "engine/app/authors/proposals.h"
#include "engine/app/campaign.h"
#include "engine/app/results.h"
#include "engine/build/plan.h"
#include "engine/campaign/generator/round_mutate.h"
#include "engine/search/variant.h"
#include "engine/world/files.h"

namespace evolve {

namespace {

using nlohmann::json;

PlanFiles files_of(const Campaign& campaign, const std::string& id) {
  return plan_files(campaign.shape, id, campaign.folder_of(id));
}

Result<VariantPlan> read_variant_plan(const Campaign& campaign, int number) {
  VariantPlan out;
  out.id = VariantId(number).text();
  out.round = round_of(campaign.shape, number);
  const PlanFiles files = files_of(campaign, out.id);
  out.path = files.decision;
  const json prompt = read_json(files.prompt), exchange = read_json(files.exchange);
  if (prompt.is_object() && exchange.is_object()) {
    out.model = prompt.value("model", "");
    out.mode = prompt.value("mode", "");
    // An answer to an earlier prompt does not count, because the next build asks the model again.
    if (auto planned = llm::planned_by(prompt, exchange)) {
      out.planned = *std::move(planned);
      out.state = out.planned.problem ? PlanState::failed : PlanState::open;
    }
  }
  if (out.state == PlanState::failed || !world::is_there(out.path)) return out;
  TRY_ASSIGN(auto text, world::read_file(out.path));
  auto decision = search::read_plan_file(text);
  if (!decision) return std::move(decision).error().within(out.path);
  out.decision = *std::move(decision);
  out.state = out.decision.is_approved ? PlanState::approved : PlanState::rejected;
  return out;
}

// Returns the ids of the variants whose plans wait for a person.
std::vector<std::string> open_ids(const std::vector<VariantPlan>& plans) {
  std::vector<std::string> out;
  for (const VariantPlan& one : plans) {
    if (one.state == PlanState::open) out.push_back(one.id);
  }
  return out;
}

}  // namespace

const char* plan_state_name(PlanState state) {
  switch (state) {
    case PlanState::unasked: return "not written";
    case PlanState::failed: return "no plan";
    case PlanState::open: return "waits";
    case PlanState::approved: return "approved";
    case PlanState::rejected: return "rejected";
  }
  return "";
}

Result<std::vector<VariantPlan>> plans_of(const Campaign& campaign, int first_round,
                                          int last_round) {
  std::vector<VariantPlan> out;
  for (const int number : planned_variants(campaign.shape, first_round, last_round)) {
    TRY_ASSIGN(auto one, read_variant_plan(campaign, number));
    out.push_back(std::move(one));
  }
  return out;
}

Result<VariantPlan> find_plan(const Campaign& campaign, const std::string& id) {
  const auto planned = planned_variants(campaign.shape, 1, campaign.shape.rounds());
  if (planned.empty()) {
    return bad_input(
        fmt::format("{}: the pipeline lets no model plan", shown_path(campaign.path)), "",
        "add mutate: { mix: { llm: 1 }, plan: approve } to the pipeline, and models plan first");
  }
  const auto number = std::find_if(planned.begin(), planned.end(),
                                   [&](int one) { return VariantId(one).text() == id; });
  if (number == planned.end())
    return bad_input(fmt::format("'{}' is not a variant with a plan", id), "",
                     "evolve plan show lists all plans");
  auto out = read_variant_plan(campaign, *number);
  if (!out) return out;
  if (out->state == PlanState::unasked) {
    return bad_input(fmt::format("{}: no model has written its plan yet", id), "",
                     fmt::format("evolve round open {}", out->round));
  }
  if (const auto& problem = out->planned.problem)
    return bad_input(
        fmt::format("{}: the model gave no plan: {}: {}", id, problem->kind, problem->reason));
  return out;
}

UndecidedPlans undecided_plans(const Campaign& campaign, const Graph& graph,
                               const std::vector<NodeId>& targets, int after) {
  UndecidedPlans out;
  const auto planned = planned_variants(campaign.shape, after + 1, campaign.shape.rounds());
  if (planned.empty()) return out;
  const BuildPlan build(graph, targets);
  const std::set<EdgeId> wanted(build.wanted_edges().begin(), build.wanted_edges().end());
  for (const int number : planned) {
    const std::string id = VariantId(number).text();
    const int round = round_of(campaign.shape, number);
    if (out.round != 0 && round != out.round) break;
    const PlanFiles files = files_of(campaign, id);
    const auto outcome = graph.find_node(files.outcome);
    if (world::is_there(files.decision) || !outcome) continue;
    const auto maker = graph.node(*outcome).made_by;
    if (!maker || !wanted.contains(*maker)) continue;
    out.round = round;
    out.ids.push_back(id);
    out.files.push_back(files.exchange);
  }
  return out;
}

Status check_decided(const Campaign& campaign, const UndecidedPlans& plans) {
  TRY_ASSIGN(auto all, plans_of(campaign, plans.round, plans.round));
  std::erase_if(all, [&](const VariantPlan& one) {
    return std::find(plans.ids.begin(), plans.ids.end(), one.id) == plans.ids.end();
  });
  const auto waiting = open_ids(all);
  if (waiting.empty()) return {};
  return bad_input(fmt::format("round-{}: no decision yet on the plans of {}", plans.round,
                               fmt::join(waiting, ", ")),
                   "", "run evolve plan show, then evolve plan approve, edit or reject");
}

Result<std::vector<std::string>> waiting_in(const Campaign& campaign, int round) {
  TRY_ASSIGN(auto places, places_of(campaign, round));
  TRY_ASSIGN(auto plans, plans_of(campaign, round, round));
  std::vector<std::string> out = open_ids(plans);
  for (const PersonPlace& one : places) {
    if (one.is_open) out.push_back(one.id);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string next_step(int round, const std::vector<std::string>& waiting) {
  if (waiting.empty()) return fmt::format("evolve build round-{}", round);
  return fmt::format("round-{} is waiting for {}", round, fmt::join(waiting, ", "));
}

}  // namespace evolve
