// Dyndep files: inputs and outputs of edges that a command finds out before those edges run.
#pragma once

#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/graph/graph.h"

namespace evolve {

// Reads the text of a dyndep file and adds what it says to all edges that bind that file. Returns
// the outputs that they have from now on, of which some may have users that know nothing of it. Bad
// input: the text is wrong ("path:line: what", with a caret), an edge that binds the file is not
// mentioned in it, an edge that is mentioned does not bind it, or a file is made twice.
Result<std::vector<NodeId>> load_dyndep(Graph& graph, NodeId file, std::string text);

}  // namespace evolve
