// Moving from stock ninja without a rebuild.
#pragma once

#include "engine/core/graph.h"
#include "engine/core/result.h"
#include "engine/lookup.h"
#include "engine/world/files.h"

namespace evolve::cli {

// Takes for up to date what ninja would by the `.ninja_log` and `.ninja_deps` in the manifest's
// `builddir`: edges whose command is the logged one, whose outputs are no older than their inputs,
// and whose inputs' edges are up to date, too. Nothing happens where there is no log.
Status import_ninja_logs(const Graph& graph, Lookup& lookup, world::DiskFiles& files);

}  // namespace evolve::cli
