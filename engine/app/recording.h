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
// Ends that record with the outcomes of the build's edges.
Status end_build(State& state, const Result<BuildSummary>& summary);

// Returns the outputs that `edges` made in a build that has ended, and the sources that these edges
// read.
Result<Record> record_of(const Graph& graph, const std::vector<EdgeId>& edges, Lookup& lookup);

// Records rounds 0 to `round` of a campaign that was built, with their sources as blobs. Returns
// the number of the last round's record. If `round` is 0, records nothing and returns 0.
Result<int64_t> record_rounds(const Campaign& campaign, const std::string& toolchain, int round,
                              const Graph& graph, Lookup& lookup, State& state);

}  // namespace evolve
