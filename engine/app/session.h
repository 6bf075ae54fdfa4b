// A campaign with its graph and state: what most commands work on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/app/campaign.h"
#include "engine/app/options.h"
#include "engine/app/state.h"
#include "engine/app/toolchain.h"
#include "engine/build/scan.h"

namespace evolve {

struct Session {
  Campaign campaign;
  Toolchain toolchain;
  std::unique_ptr<State> state;
  std::unique_ptr<Graph> graph;
};

// Changes to the project's root. The graph is not read yet.
Result<Session> open_without_graph(const SessionOptions& common);
// Writes the manifest, and reads it.
Status read_graph(Session& session);
// Both.
Result<Session> open_session(const SessionOptions& common);

}  // namespace evolve
