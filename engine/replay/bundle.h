// A round as one file, for a stranger's machine: records, results, and every blob that they name.
// Format: cache/README.md.
#pragma once

#include <string>

#include "engine/app/answer.h"
#include "engine/app/options.h"

namespace evolve {

struct BundleRequest {
  std::string round;   // export: "round-3"; empty: the last one
  int64_t record = 0;  // export: its number in the ledger; 0: the round's last one
  std::string path;    // of the bundle
  std::string as;      // import: the campaign's name here; empty: as it was
};

Result<Answer> export_bundle(const SessionOptions& options, const BundleRequest& request);
// Nothing of a bundle is believed before all of it was checked, and nothing is stored then but what
// a replay needs: what a stranger says of an action is no result for our builds.
Result<Answer> import_bundle(const SessionOptions& options, const BundleRequest& request);

}  // namespace evolve
