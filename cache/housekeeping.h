// Housekeeping of a state folder: the removal of blobs that may go, and the check of all that is
// stored.
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

// The facts about a blob by which gc() decides.
struct Weighed {
  int64_t bytes = 0;
  double age_seconds = 0;   // since it was last put or taken
  double cost_seconds = 0;  // of the command that made it
  bool is_pinned = false;   // a record of the ledger needs it
};

// Selects the blobs to remove, as positions in `blobs`. First, the blobs that are too old go. Then
// the blobs that save the least command time for their size and age go, until the rest is within
// `max_bytes`. Pinned blobs stay. Blobs that were used within kInUseSeconds stay, too, because a
// build may need them.
inline constexpr double kInUseSeconds = 600;
std::vector<size_t> what_goes(std::span<const Weighed> blobs, const GcLimits& limits);

struct LocalCache {
  SqliteMemo& memo;
  SqliteLedger& ledger;
  FolderBlobStore& blobs;
};

// Returns all blobs that records of the ledger need.
Result<std::unordered_set<Digest>> pinned(RoundTable& log);

struct GcReport {
  int64_t blobs = 0, bytes = 0;  // before gc()
  int64_t removed_blobs = 0, removed_bytes = 0;
  int64_t removed_results = 0;  // results of the memo that lost an output
  int64_t pinned_bytes = 0;
};
// Removes the blobs that what_goes() selects, and the memo's results that can no longer be
// restored. With `dry_run`, removes nothing and reports the blobs that would go. Results are not
// counted then.
Result<GcReport> gc(const LocalCache& local, const GcLimits& limits, double now, bool dry_run);

struct VerifyReport {
  int64_t blobs = 0, bytes = 0;
  std::vector<std::string> damaged;   // blobs that did not match their names, and are removed
  std::vector<std::string> repaired;  // damaged blobs that the remote cache had
  int64_t fetched = 0;                // lost blobs of results that the remote cache had
  std::vector<std::string> missing;  // files that records need and that are gone: "round-1 of x: p"
  int64_t removed_results = 0;
  std::vector<std::string> faults;  // faults of the databases, in SQLite's words
};
// Reads every blob. Fetches damaged or lost blobs from `remote`; null: fetches nothing.
Result<VerifyReport> verify(const LocalCache& local, RemoteCache* remote);

}  // namespace evolve::cache
