// The look before a build: which edges are not up to date, and why. What `evolve why`, the dry run
// and Ninja's "[3/7]" are told from, by the same look-up as the build's own.
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
    maybe,    // an input's edge has to run first, and may give the bytes that are there
    restore,  // its result is stored, and some of its files are not in place
  };
  EdgeId edge{};
  Need need = Need::run;
  std::vector<NodeId> dirty_inputs;      // maybe, run: those that will or may be new
  std::optional<NodeId> missing_output;  // run, restore: the first that is not there
  std::vector<std::string> reasons;      // run: why, as `why` tells it
};

// The edges of `targets` that are not up to date, in an order in which they could run. Runs and
// changes nothing but the graph, into which dyndep files that are up to date are read; `tell` is
// told of each.
Result<std::vector<Pending>> scan(
    Graph& graph, const std::vector<NodeId>& targets, Lookup& lookup, Files& files,
    BlobStore& blobs, const std::function<void(NodeId dyndep_file)>& tell = [](NodeId) {});

}  // namespace evolve
