// Snapshots and notes: facts about a manifest's files that are kept between builds, in the state
// folder's `snapshots`.
#pragma once

#include <optional>
#include <string>

#include "engine/app/state.h"
#include "engine/build/build_note.h"
#include "engine/build/snapshot.h"
#include "engine/graph/graph.h"

namespace evolve {

// Returns the last snapshot of a manifest's files in the current folder; nullopt: there is no
// snapshot. `warning` says what is damaged.
std::optional<Snapshot> load_snapshot(State& state, const std::string& manifest, Graph& graph,
                                      std::string& warning);
// Stores the snapshot if anything in it is new.
Status save_snapshot(State& state, const std::string& manifest, const Graph& graph,
                     const Snapshot& snapshot);

// Returns the last note that a build of the manifest left in the current folder; nullopt: there is
// no note. `warning` says what is damaged.
std::optional<BuildNote> load_note(State& state, const std::string& manifest, std::string& warning);
Status save_note(State& state, const std::string& manifest, const BuildNote& note);

}  // namespace evolve
