// Dyndep files: inputs and outputs that a command finds out for edges before they run.
#pragma once

#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/graph/graph.h"

namespace evolve {

// Reads the text of a dyndep file and adds its inputs and outputs to all edges that bind that file.
// Returns the added outputs. Some of them may already be inputs of other edges, which do not know
// yet that an edge makes them. Bad input: the text is wrong ("path:line: what", with a caret), the
// file does not mention an edge that binds it, it mentions an edge that does not bind it, or two
// edges make one file.
Result<std::vector<NodeId>> load_dyndep(Graph& graph, NodeId file, std::string text);

}  // namespace evolve
