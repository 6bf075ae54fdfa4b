// The plans that language models write for a campaign's variants, with the state of each plan and a
// person's decision on it (engine/search/proposal/plan_file.h).
#pragma once

#include <string>
#include <vector>

#include "engine/app/campaign.h"
#include "engine/core/result.h"
#include "engine/graph/graph.h"
#include "engine/llm/plan.h"
#include "engine/search/proposal/plan_file.h"

namespace evolve {

enum class PlanState {
  unasked,  // no model has written the plan yet
  failed,   // the model gave no plan, so there is nothing to decide
  open,     // waits for a person's decision
  approved,
  rejected
};
const char* plan_state_name(PlanState state);

// A variant whose code follows a plan.
struct VariantPlan {
  std::string id;
  int round = 0;
  PlanState state = PlanState::unasked;
  std::string path;           // the file of the person's decision
  llm::Plan planned;          // the model's own plan
  search::PlanFile decision;  // only set if the state is approved or rejected
  std::string model, mode;

  [[nodiscard]] bool is_edited() const {
    return state == PlanState::approved && !planned.text.empty() && decision.plan != planned.text;
  }
  // Returns the plan for the code: the person's plan, or the model's if the person wrote none.
  [[nodiscard]] const std::string& text() const {
    return decision.plan.empty() ? planned.text : decision.plan;
  }
};

// Returns the plans of these rounds on which people decide, in the order of their variants. Bad
// input: a person's file is not a decision.
Result<std::vector<VariantPlan>> plans_of(const Campaign& campaign, int first_round,
                                          int last_round);
// Returns the plan of a variant. Bad input: people do not decide on that variant's plan, or no plan
// has been written.
Result<VariantPlan> find_plan(const Campaign& campaign, const std::string& id);

// Plans of a round on which nobody has decided, judging by the files that exist.
struct UndecidedPlans {
  int round = 0;                   // 0: no such plans
  std::vector<std::string> ids;    // of the variants
  std::vector<std::string> files;  // to be built before people can decide
};
// Returns the undecided plans that the targets need in one round: the first round after `after`
// that has such plans.
UndecidedPlans undecided_plans(const Campaign& campaign, const Graph& graph,
                               const std::vector<NodeId>& targets, int after);
// Checks that people have decided on all of these plans, which are built by now. Bad input, with a
// hint: some plans still wait.
Status check_decided(const Campaign& campaign, const UndecidedPlans& plans);

// Returns the variants of a round that wait for a person: for a kernel, or for a decision on a
// plan.
Result<std::vector<std::string>> waiting_in(const Campaign& campaign, int round);
// Says what is left to do in a round. `waiting`: the variants that wait for a person.
std::string next_step(int round, const std::vector<std::string>& waiting);

}  // namespace evolve
