// The tools of `-t`: questions about a graph, answered in Ninja's own words.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/core/ports.h"
#include "engine/graph/graph.h"
#include "engine/graph/manifest.h"
#include "engine/ninja/options.h"

namespace evolve::ninja {

// What a tool needs to have been read before it runs.
enum class ToolNeeds {
  nothing,
  manifest,
  records,  // of earlier builds, too
};

struct ToolContext {
  Graph& graph;
  const Options& options;
  Files& files;
  LoadText load;
  std::string folder;  // the current one, absolute
  // The last record of each edge that was ever built here.
  std::function<Result<std::vector<EdgeRecord>>()> last_records;
};

struct Tool {
  const char* name;
  const char* description;  // null: not listed
  ToolNeeds needs;
  // Prints the answer and returns the exit code.
  int (*run)(const ToolContext& context, const std::vector<std::string>& arguments);
};

// The tool of that name, or null.
const Tool* find_tool(const std::string& name);
const std::vector<std::string>& tool_names();
// What `-t list` prints.
std::string list_tools();

// The node that a name on the command line means: a path, one below `builddir`, or "path^", the
// first output of the first edge that uses it. Bad input: there is none, with the nearest.
Result<NodeId> find_target(const Graph& graph, const std::string& name);
// Adds to the graph what the edge's dyndep file says, the first time. An error: it cannot be read.
Status load_dyndep_of(const ToolContext& context, EdgeId id);
// The nodes of several names; the default ones for none.
Result<std::vector<NodeId>> find_targets(const Graph& graph, const std::vector<std::string>& names);

}  // namespace evolve::ninja
