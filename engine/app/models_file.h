// What models were asked and have answered: a round that was answered keeps the models' file
// (llm.json) that it was answered by, so that an edit of it pays for nothing twice. And what a
// build would ask again.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/app/campaign.h"
#include "engine/app/state.h"
#include "engine/build/scan.h"
#include "engine/core/record.h"
#include "engine/graph/graph.h"

namespace evolve {

// The keys of the steps `models` of a record: what they gave is final (Lookup::confirm).
std::vector<Digest> models_keys(const Record& record);
// Those of all records of a campaign, where it has models.
Result<std::vector<Digest>> models_keys(const Campaign& campaign, State& state);

// Answers that models gave in rounds that are recorded, and may have to give again.
struct AskedAgain {
  int answers = 0;
  double usd = 0;  // what the variants that they made cost then
  std::set<std::string> variants;
};
// Of what is not up to date.
Result<AskedAgain> asked_again(const Campaign& campaign, const Graph& graph,
                               const std::vector<Pending>& pending, State& state);
// Of it, for people; empty where nothing is asked again.
std::string text_of(const AskedAgain& asked);

}  // namespace evolve
