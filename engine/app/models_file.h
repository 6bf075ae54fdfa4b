// The models' files (llm.json) of recorded rounds, and the answers that a build would ask for
// again. A recorded round keeps the models' file that its answers came from. So after an edit of
// the file, no answer is paid for twice.
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

// Returns the keys of a record's `models` steps, whose results are final (Lookup::confirm).
std::vector<Digest> models_keys(const Record& record);
// Returns these keys for all records of a campaign; empty: the campaign has no models.
Result<std::vector<Digest>> models_keys(const Campaign& campaign, State& state);

// The answers that models gave in recorded rounds and may have to give again.
struct AskedAgain {
  int answers = 0;
  double usd = 0;  // cost of the variants that they made, at that time
  std::set<std::string> variants;
};
// Returns the answers that `pending`, the edges that are not up to date, may ask for again.
Result<AskedAgain> asked_again(const Campaign& campaign, const Graph& graph,
                               const std::vector<Pending>& pending, State& state);
// Returns these answers in words for people; empty: no answer is asked for again.
std::string text_of(const AskedAgain& asked);

}  // namespace evolve
