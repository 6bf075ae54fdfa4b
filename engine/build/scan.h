// The scan before a build: the edges that are not up to date, and the reasons. `evolve why`, the
// dry run and Ninja's "[3/7]" use it. The scan uses the same look-up as the build.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/build/lookup.h"
#include "engine/build/plan.h"
#include "engine/core/ports.h"
#include "engine/graph/graph.h"

namespace evolve {

// An edge that is not up to date.
struct Pending {
  enum class Need {
    run,      // no result is stored for it, or it runs every time
    maybe,    // an input's edge has to run first, and may write the same bytes again
    restore,  // its result is stored, and some of its files are not in place
  };
  EdgeId edge{};
  Need need = Need::run;
  std::vector<NodeId> dirty_inputs;      // maybe, run: inputs that will or may be new
  std::optional<NodeId> missing_output;  // run, restore: the first output that is missing
  std::vector<Reason> reasons;           // run: why, in the words of `evolve why`
  std::optional<Hit> hit;                // restore
};

// Returns the edges of `targets` that are not up to date, in an order in which they could run. Runs
// nothing and writes no file. Reads the dyndep files that are up to date into the graph, and calls
// `tell` for each of them.
Result<std::vector<Pending>> scan(
    Graph& graph, const std::vector<NodeId>& targets, Lookup& lookup, Files& files,
    BlobStore& blobs, const std::function<void(NodeId dyndep_file)>& tell = [](NodeId) {});

// Moves the hits out of `pending`, for a build of the same targets.
Hits take_hits(std::vector<Pending>& pending);

}  // namespace evolve
