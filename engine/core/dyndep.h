// Dyndep files: inputs and outputs of edges that a command finds out before those edges run.
#pragma once

#include <string>

#include "engine/core/graph.h"
#include "engine/core/result.h"

namespace evolve {

// Reads the text of a dyndep file and adds what it says to all edges that bind that file. Bad
// input: the text is wrong ("path:line: what", with a caret), an edge that binds the file is not
// mentioned in it, an edge that is mentioned does not bind it, or a file is made twice.
Status load_dyndep(Graph& graph, NodeId file, std::string text);

}  // namespace evolve
