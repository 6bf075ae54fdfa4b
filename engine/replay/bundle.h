// Bundle files: a recorded round in one file, for a stranger's machine, with its records, its
// results, and every blob that these name. Format: cache/README.md.
#pragma once

#include <string>

#include "engine/app/answer.h"
#include "engine/app/options.h"

namespace evolve {

struct BundleRequest {
  std::string round;   // export: "round-3"; empty: the last round
  int64_t record = 0;  // export: the record's number in the ledger; 0: the round's last
  std::string path;    // the bundle's file
  std::string as;      // import: the campaign's name here; empty: its name in the bundle
};

Result<Answer> export_bundle(const CampaignFlags& options, const BundleRequest& request);
// Checks a whole bundle file before anything is stored, and then stores only the parts that a
// replay needs. A stranger's results never count as results of our own builds.
Result<Answer> import_bundle(const CampaignFlags& options, const BundleRequest& request);

}  // namespace evolve
