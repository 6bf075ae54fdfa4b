// The command that the runner is asked to run for an edge.
#pragma once

#include <map>
#include <string>

#include "engine/build/action_keys.h"
#include "engine/core/ports.h"
#include "engine/graph/extensions.h"
#include "engine/graph/graph.h"

namespace evolve {

// Returns the command of an edge whose action is `key`. A command on this machine gets all of
// `environment`. A command on another machine (`placement`) gets only the variables that the edge
// declares. Bad input: the command is too long.
Result<Command> command_of(const Graph& graph, EdgeId id, const ActionKeys& keys,
                           const std::map<std::string, std::string>& environment,
                           const Placement& placement, const Digest& key);

}  // namespace evolve
