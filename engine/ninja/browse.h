// `-t browse`: the graph as linked pages, a page a file.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ninja/tools.h"

namespace evolve::ninja {

// The HTML page of a target: the rule and inputs that it is built by, and what is built from it.
std::string page_of(const Graph& graph, const std::string& target);

// Serves the pages on a local port until it is interrupted, and opens a browser on the first one.
int browse(const ToolContext& context, const std::vector<std::string>& arguments);

}  // namespace evolve::ninja
