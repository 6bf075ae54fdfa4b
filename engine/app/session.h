// Sessions: a campaign with its graph and state, on which most commands work.
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

// Opens a session, and changes to the project's root. Does not read the graph yet.
Result<Session> open_without_graph(const SessionOptions& common);
// Writes the manifest, and reads it into the session's graph.
Status read_graph(Session& session);
// Does both.
Result<Session> open_session(const SessionOptions& common);

}  // namespace evolve
