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

// The data that must be read before a tool runs.
enum class ToolNeeds {
  nothing,
  manifest,
  records,  // of earlier builds, and the manifest
};

struct ToolContext {
  Graph& graph;
  const Options& options;
  Files& files;
  LoadText load;
  std::string folder;  // the current folder, absolute
  // Returns the last record of each edge that was ever built here.
  std::function<Result<std::vector<EdgeRecord>>()> last_records;
};

struct Tool {
  const char* name;
  const char* description;  // null: not listed
  ToolNeeds needs;
  // Prints the answer and returns the exit code.
  int (*run)(const ToolContext& context, const std::vector<std::string>& arguments);
};

// Returns the tool of that name, or null.
const Tool* find_tool(const std::string& name);
const std::vector<std::string>& tool_names();
// Returns the text that `-t list` prints.
std::string list_tools();

// Returns the node that a name on the command line means: a path, a path below `builddir`, or
// "path^", the first output of the first edge that uses the path. Bad input: no node has the name.
// The error offers the nearest name.
Result<NodeId> find_target(const Graph& graph, const std::string& name);
// Reads the edge's dyndep file into the graph, if that was not done before. An error: the file
// cannot be read, or its text is wrong.
Status load_dyndep_of(const ToolContext& context, EdgeId id);
// Returns the nodes of several names; no names: the default targets.
Result<std::vector<NodeId>> find_targets(const Graph& graph, const std::vector<std::string>& names);

}  // namespace evolve::ninja
