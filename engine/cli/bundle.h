// A round as one file, for a stranger's machine: records, results, and every blob that they name.
// Format: cache/README.md.
#pragma once

#include <string>

#include "engine/cli/commands.h"

namespace evolve::cli {

struct BundleCommand {
  std::string round;   // export: "round-3"; empty: the last one
  int64_t record = 0;  // export: its number in the ledger; 0: the round's last one
  std::string path;    // of the bundle
  std::string as;      // import: the campaign's name here; empty: as it was
};

Status run_export(const CommonOptions& common, const BundleCommand& command);
// Nothing of a bundle is believed before all of it was checked, and nothing is stored then but what
// a replay needs: what a stranger says of an action is no result for our builds.
Status run_import_bundle(const CommonOptions& common, const BundleCommand& command);

}  // namespace evolve::cli
