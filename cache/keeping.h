// House-keeping of a state folder: what lies there, what may go, and whether it is sound.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "cache/blob_store.h"
#include "cache/ledger.h"
#include "cache/memo.h"
#include "cache/remote.h"

namespace evolve::cache {

struct GcLimits {
  std::optional<double> max_bytes;
  std::optional<double> max_age_seconds;
};

// A blob as gc weighs it.
struct Weighed {
  int64_t bytes = 0;
  double age_seconds = 0;   // since it was last put or taken
  double cost_seconds = 0;  // of the command that made it
  bool is_pinned = false;   // a record of the ledger needs it
};

// Which blobs are to go, as places in `blobs`: those that are too old, then, until the rest is
// within `max_bytes`, those that give back the least of their commands' time for their bytes and
// their age. Pinned ones stay, and those that were used within kInUseSeconds: a build may be at it.
inline constexpr double kInUseSeconds = 600;
std::vector<size_t> what_goes(std::span<const Weighed> blobs, const GcLimits& limits);

struct Keeping {
  SqliteMemo& memo;
  SqliteLedger& ledger;
  FolderBlobStore& blobs;
};

// All blobs that records of the ledger need.
Result<std::unordered_set<Digest>> pinned(SqliteLedger& ledger);

struct GcReport {
  int64_t blobs = 0, bytes = 0;  // before
  int64_t removed_blobs = 0, removed_bytes = 0;
  int64_t removed_results = 0;  // of the memo, some output of which is gone
  int64_t pinned_bytes = 0;
};
// Removes what what_goes() says, and the memo's results that cannot be restored any more. Removes
// nothing with `dry_run`, and says what would go; results are not counted then.
Result<GcReport> gc(const Keeping& keeping, const GcLimits& limits, double now, bool dry_run);

struct VerifyReport {
  int64_t blobs = 0, bytes = 0;
  std::vector<std::string> damaged;   // blobs that were not what their names say, and are removed
  std::vector<std::string> repaired;  // those of them that the remote cache had
  int64_t fetched = 0;                // other blobs that it had, which results had lost
  std::vector<std::string> missing;  // files that records need and that are gone: "round-1 of x: p"
  int64_t removed_results = 0;
  std::vector<std::string> faults;  // of the databases, in SQLite's words
};
// Reads every blob. What is damaged or lost is taken from `remote`, which may be null.
Result<VerifyReport> verify(const Keeping& keeping, RemoteCache* remote);

}  // namespace evolve::cache
