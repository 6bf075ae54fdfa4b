// The open state folder: the databases, the blobs, and the real world behind the ports.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "cache/blob_store.h"
#include "cache/ledger.h"
#include "cache/memo.h"
#include "engine/world/claims.h"
#include "engine/world/clock.h"
#include "engine/world/disk_files.h"

namespace evolve {

struct State {
  world::DiskFiles files;
  world::SystemClock clock;
  std::unique_ptr<cache::SqliteMemo> memo;
  std::unique_ptr<cache::SqliteLedger> ledger;
  std::unique_ptr<cache::FolderBlobStore> blobs;
  std::unique_ptr<world::FileClaims> claims;
  std::string folder;
};

// Opens a state folder, and makes its missing parts. `sharing`: what the blobs share with the files
// that are made from them. `warning` names the files that had to be set aside.
Result<std::unique_ptr<State>> open_state(const std::string& folder, Sharing sharing,
                                          std::string& warning);

// Returns the environment variables of this process.
std::map<std::string, std::string> process_environment();
// Returns the variables that every command gets: fixed ones, and this process's PATH, HOME and
// TMPDIR.
std::map<std::string, std::string> command_environment();

}  // namespace evolve
