// The records of `evolve ninja`: results, discoveries and blobs of earlier builds.
#pragma once

#include <memory>
#include <vector>

#include "engine/app/state.h"
#include "engine/core/machine_paths.h"
#include "engine/graph/graph.h"

namespace evolve::cli {

// Returns the paths that differ in another clone. "root" is the project's folder: $EVOLVE_BASE, or
// the nearest folder with a `.git`. "folder" is the current folder.
std::vector<MachineBinding> machine_paths();

// Opens or makes the records of a manifest. They are in $EVOLVE_STATE, which several manifests may
// share. Without that variable they are in `.evolve` in the manifest's `builddir`, or else in
// `.evolve` in the current folder.
Result<std::unique_ptr<State>> open_records(const Graph& graph);

// Returns the last record of each edge. If nothing was ever built, returns an empty list and makes
// no records.
Result<std::vector<EdgeRecord>> last_records(const Graph& graph);

}  // namespace evolve::cli
