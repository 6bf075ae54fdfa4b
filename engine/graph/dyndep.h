// Dyndep files: inputs and outputs of edges that a command finds out before the edges run.
#pragma once

#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/graph/graph.h"

namespace evolve {

// Reads the text of a dyndep file and adds its inputs and outputs to all edges that bind that file.
// Returns the added outputs. Some of them may already be inputs of other edges, which so far do not
// wait for an edge that makes them. Bad input: the text is wrong ("path:line: what", with a caret),
// the file does not mention an edge that binds it, the file mentions an edge that does not bind it,
// or two edges make one file.
Result<std::vector<NodeId>> load_dyndep(Graph& graph, NodeId file, std::string text);

}  // namespace evolve
