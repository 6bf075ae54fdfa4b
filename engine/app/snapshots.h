// What is kept of a manifest's files between builds, in the state folder's `snapshots`.
#pragma once

#include <optional>
#include <string>

#include "engine/app/state.h"
#include "engine/build/build_note.h"
#include "engine/build/snapshot.h"
#include "engine/graph/graph.h"

namespace evolve {

// What is known of a manifest's files in the current folder; nullopt where nothing is. `warning`
// gets words of what is damaged.
std::optional<Snapshot> load_snapshot(State& state, const std::string& manifest, Graph& graph,
                                      std::string& warning);
// Keeps what is known, if anything is new.
Status save_snapshot(State& state, const std::string& manifest, const Graph& graph,
                     const Snapshot& snapshot);

// The note of the last build of a manifest in the current folder that left one.
std::optional<BuildNote> load_note(State& state, const std::string& manifest, std::string& warning);
Status save_note(State& state, const std::string& manifest, const BuildNote& note);

}  // namespace evolve
