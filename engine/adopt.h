// Taking what lies there for what an edge made: for projects that were built by another Ninja
// before.
#pragma once

#include <string>
#include <vector>

#include "engine/core/graph.h"
#include "engine/core/ports.h"
#include "engine/lookup.h"

namespace evolve {

// Stores the edge's outputs, as they are on disk, as its result under the key that it has now.
// Their bytes do not become blobs: a result that was not made here is good where it lies, and
// nowhere else. REQUIRES: the digests of the edge's made inputs are set; all outputs exist.
Status adopt(const Graph& graph, EdgeId id, const std::vector<std::string>& discovered,
             Lookup& lookup, Files& files, Memo& memo);

}  // namespace evolve
