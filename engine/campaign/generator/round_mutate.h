// The edges of a campaign's manifest that propose a round's variants. They read the survivors of
// the round before and the history of all variants so far. They write each variant's kernel.py and
// variant.json.
#pragma once

#include <string>
#include <vector>

#include "engine/campaign/generator/round.h"
#include "engine/campaign/generator/step_edge.h"

namespace evolve {

// Returns the mutator that proposes a variant. In the opening rounds this is always a person. In
// later rounds the mutators propose in proportion to their weights, evenly mixed from round to
// round. REQUIRES: number > 0.
const std::string& mutator_of(const CampaignShape& shape, int number);
// Returns the file in which a person proposes a variant. REQUIRES: the variant's mutator is a
// person.
std::string proposal_path(const CampaignShape& shape, const std::string& id);
// Returns the numbers of the variants that people propose in these rounds, in order.
std::vector<int> proposed_variants(const CampaignShape& shape, int first_round, int last_round);

// The files of a model's plan for a variant, if models write plans.
struct PlanFiles {
  std::string prompt, exchange;  // the request, and the answer
  std::string decision;          // a person's decision on the plan
  std::string outcome;           // plan.json
};
// Returns the files of a variant's plan. `folder` is the variant's folder.
PlanFiles plan_files(const CampaignShape& shape, const std::string& id, const std::string& folder);
// Returns the numbers of the variants on whose plans people decide in these rounds, in order.
std::vector<int> planned_variants(const CampaignShape& shape, int first_round, int last_round);

void write_seed_variant(StepText& text);
void write_mutators(const CampaignShape& shape, int round, StepText& text);

// Returns "$work/round-2".
std::string round_folder(int round);

// The files that a round starts from: the selection of the round before, its history, its
// learnings, and the lineages' kernels. In the first round all members are empty.
struct Ancestry {
  std::string selection;
  std::string history;
  std::string learnings;
  std::vector<std::string> lineages;
  // The compiler's evidence on each lineage; empty: no models are asked.
  std::vector<std::string> evidence;
};
Ancestry ancestry_of(const CampaignShape& shape, int round);

}  // namespace evolve
