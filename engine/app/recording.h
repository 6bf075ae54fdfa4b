// The record of a build, and of the rounds that it built.
#pragma once

#include <string>
#include <vector>

#include "engine/app/campaign.h"
#include "engine/app/state.h"
#include "engine/build/build.h"
#include "engine/build/lookup.h"
#include "engine/core/record.h"
#include "engine/graph/graph.h"

namespace evolve {

// Opens the record of a build in the ledger.
Status begin_build(State& state, const std::string& campaign,
                   const std::vector<std::string>& targets, const std::string& toolchain);
// Ends it with what became of its edges.
Status end_build(State& state, const Result<BuildSummary>& summary);

// What `edges` gave in a build that has ended, and what sources they read.
Result<Record> record_of(const Graph& graph, const std::vector<EdgeId>& edges, Lookup& lookup);

// Records rounds 0 to `round` of a campaign that was built, with their sources as blobs. Returns
// the number of the last one's record; 0 where `round` is 0, and nothing is recorded.
Result<int64_t> record_rounds(const Campaign& campaign, const std::string& toolchain, int round,
                              const Graph& graph, Lookup& lookup, State& state);

}  // namespace evolve
