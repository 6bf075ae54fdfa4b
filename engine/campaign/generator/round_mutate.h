// The part of a campaign's manifest that proposes a round's variants: from the survivors of the
// round before, and what became of all variants so far, to each variant's kernel.py and
// variant.json.
#pragma once

#include <string>
#include <vector>

#include "engine/campaign/generator/round.h"
#include "engine/graph/edge_text.h"

namespace evolve {

// Which mutator proposes a variant: of the opening rounds a person; of others each as often as its
// weight says, evenly mixed, from round to round. REQUIRES: number > 0.
const std::string& mutator_of(const CampaignShape& shape, int number);
// The file in which a person proposes a variant, whose place is a person's.
std::string proposal_path(const CampaignShape& shape, const std::string& id);
// The numbers of the variants of these rounds that people propose, in their order.
std::vector<int> proposed_variants(const CampaignShape& shape, int first_round, int last_round);

// What a model's plan for a variant is made of, where models write plans, and what comes of it.
struct PlanFiles {
  std::string prompt, exchange;  // what was asked, and the answer
  std::string decision;          // a person's word on it
  std::string outcome;           // plan.json
};
// `folder` is that of the variant.
PlanFiles plan_files(const CampaignShape& shape, const std::string& id, const std::string& folder);
// The numbers of the variants of these rounds on whose plans people decide, in their order.
std::vector<int> planned_variants(const CampaignShape& shape, int first_round, int last_round);

void write_seed_variant(ManifestText& text);
void write_mutators(const CampaignShape& shape, int round, ManifestText& text);

// "$work/round-2".
std::string round_folder(int round);

// The files that hold what round `round` starts from: the selection of the round before, its
// history, what was learned, and the lineages' kernels. None for the first round.
struct Ancestry {
  std::string selection;
  std::string history;
  std::string learnings;
  std::vector<std::string> lineages;
  std::vector<std::string> evidence;  // what the compiler said of each, where models are asked
};
Ancestry ancestry_of(const CampaignShape& shape, int round);

}  // namespace evolve
