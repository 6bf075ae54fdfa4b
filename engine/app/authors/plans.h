// The plans that language models write for a campaign's variants: where they stand, and a person's
// word on each (engine/search/proposal/plan_file.h).
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
  unasked,  // no model has written it yet
  failed,   // the model gave none: there is nothing to decide
  open,     // waits for a person
  approved,
  rejected
};
const char* plan_state_name(PlanState state);

// A variant whose code is written by a plan.
struct VariantPlan {
  std::string id;
  int round = 0;
  PlanState state = PlanState::unasked;
  std::string path;           // of the person's word
  llm::Plan planned;          // by the model
  search::PlanFile decision;  // where the state is one of the last two
  std::string model, mode;

  [[nodiscard]] bool is_edited() const {
    return state == PlanState::approved && !planned.text.empty() && decision.plan != planned.text;
  }
  // What is carried out, or would be.
  [[nodiscard]] const std::string& text() const {
    return decision.plan.empty() ? planned.text : decision.plan;
  }
};

// Those of these rounds on which people decide, in their order. Bad input: a person's file is none.
Result<std::vector<VariantPlan>> plans_of(const Campaign& campaign, int first_round,
                                          int last_round);
// That of a variant. Bad input: nobody decides on it, or there is none yet.
Result<VariantPlan> find_plan(const Campaign& campaign, const std::string& id);

// Plans of a round on which nobody has decided, as far as files tell.
struct UndecidedPlans {
  int round = 0;                   // 0: there are none
  std::vector<std::string> ids;    // of their variants
  std::vector<std::string> files;  // what a build makes, so that they can be decided on
};
// Those that the targets need, of the first such round behind `after`.
UndecidedPlans undecided_plans(const Campaign& campaign, const Graph& graph,
                               const std::vector<NodeId>& targets, int after);
// Bad input, with a hint: of these, which are built by now, some wait for a person.
Status check_decided(const Campaign& campaign, const UndecidedPlans& plans);

// The variants of a round that wait for a person: for a kernel, or a word on a plan.
Result<std::vector<std::string>> waiting_in(const Campaign& campaign, int round);
// What is left to do in a round in which these wait.
std::string next_step(int round, const std::vector<std::string>& waiting);

}  // namespace evolve
