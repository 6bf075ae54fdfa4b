// The records of `evolve ninja`: results, discoveries and blobs of earlier builds.
#pragma once

#include <memory>
#include <vector>

#include "engine/app/state.h"
#include "engine/core/machine_paths.h"
#include "engine/graph/graph.h"

namespace evolve::cli {

// The paths that are called otherwise in another clone: "root", the project's folder, which is
// $EVOLVE_BASE or the nearest one with a `.git`, and "folder", the current one.
std::vector<MachineBinding> machine_paths();

// Opens or makes the records of a manifest: in $EVOLVE_STATE, which many may share, or in `.evolve`
// in its `builddir`, which is the current folder where it binds none.
Result<std::unique_ptr<State>> open_records(const Graph& graph);

// The last record of each edge; none, and nothing is made, where nothing was ever built.
Result<std::vector<EdgeRecord>> last_records(const Graph& graph);

}  // namespace evolve::cli
