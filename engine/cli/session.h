// A campaign with its graph and state: what most commands work on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/cli/campaign.h"
#include "engine/cli/commands.h"
#include "engine/cli/state.h"
#include "engine/cli/toolchain.h"
#include "engine/scan.h"

namespace evolve::cli {

struct Session {
  Campaign campaign;
  Toolchain toolchain;
  std::unique_ptr<State> state;
  std::unique_ptr<Graph> graph;
};

// Changes to the project's root. The graph is not read yet.
Result<Session> open_without_graph(const CommonOptions& common);
// Writes the manifest, and reads it.
Status read_graph(Session& session);
// Both.
Result<Session> open_session(const CommonOptions& common);

// The nodes that targets name: a path below the campaign's folder may be given without it. Bad
// input: there is no such target, or it needs what a person has yet to propose.
Result<std::vector<NodeId>> find_targets(const Session& session,
                                         const std::vector<std::string>& names);

}  // namespace evolve::cli
