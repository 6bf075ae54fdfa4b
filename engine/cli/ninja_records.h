// The records of `evolve ninja`: results, discoveries and blobs of earlier builds.
#pragma once

#include <memory>
#include <vector>

#include "cache/blob_store.h"
#include "cache/ledger.h"
#include "cache/memo.h"
#include "engine/core/graph.h"
#include "engine/world/clock.h"
#include "engine/world/files.h"

namespace evolve::cli {

struct Records {
  world::DiskFiles files;
  world::SystemClock clock;
  std::unique_ptr<cache::SqliteMemo> memo;
  std::unique_ptr<cache::SqliteLedger> ledger;
  std::unique_ptr<cache::FolderBlobStore> blobs;
};

// Opens or makes the records of a manifest: in $EVOLVE_STATE, which many may share, or in `.evolve`
// in its `builddir`, which is the current folder where it binds none.
Result<std::unique_ptr<Records>> open_records(const Graph& graph);

// The last record of each edge; none, and nothing is made, where nothing was ever built.
Result<std::vector<EdgeRecord>> last_records(const Graph& graph);

}  // namespace evolve::cli
