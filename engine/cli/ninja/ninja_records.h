// The records of `evolve ninja`: results, discoveries and blobs of earlier builds.
#pragma once

#include <memory>
#include <vector>

#include "engine/app/state.h"
#include "engine/core/machine_paths.h"
#include "engine/graph/graph.h"

namespace evolve::cli {

// Returns the paths that differ in another clone: "root", the project's folder, which is
// $EVOLVE_BASE or the nearest one with a `.git`, and "folder", the current one.
std::vector<MachineBinding> machine_paths();

// Opens or makes the records of a manifest. They lie in $EVOLVE_STATE, which many may share, or in
// `.evolve` in the manifest's `builddir`; without a `builddir`, in `.evolve` in the current folder.
Result<std::unique_ptr<State>> open_records(const Graph& graph);

// Returns the last record of each edge. If nothing was ever built, returns an empty list and makes
// nothing.
Result<std::vector<EdgeRecord>> last_records(const Graph& graph);

}  // namespace evolve::cli
