// What the runner is asked to do for an edge.
#pragma once

#include <map>
#include <string>

#include "engine/build/lookup.h"
#include "engine/core/ports.h"
#include "engine/graph/extensions.h"
#include "engine/graph/graph.h"

namespace evolve {

// The command of an edge whose action is `key`. `placement` says whether another machine is to run
// it: that gets of `environment`, which every command here gets, only what the edge declares. Bad
// input: the command is too long, or its variables are not of their form.
Result<Command> command_of(const Graph& graph, EdgeId id, const Lookup& lookup,
                           const std::map<std::string, std::string>& environment,
                           const Placement& placement, const Digest& key);

// "." for a file without one.
std::string folder_of(const std::string& path);

}  // namespace evolve
