// `-t browse`: the graph as linked pages, one page for each file.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ninja/tools.h"

namespace evolve::ninja {

// Returns the HTML page of a target. The page shows the rule and inputs of the target, and the
// files that are built from the target.
std::string page_of(const Graph& graph, const std::string& target);

// Serves the pages on a local port until interrupted, and opens a browser on the first page.
int browse(const ToolContext& context, const std::vector<std::string>& arguments);

}  // namespace evolve::ninja
