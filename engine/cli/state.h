// The state folder opened: the databases, the blobs, and the real world behind the ports.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "cache/blob_store.h"
#include "cache/ledger.h"
#include "cache/memo.h"
#include "engine/cli/campaign.h"
#include "engine/world/clock.h"
#include "engine/world/files.h"

namespace evolve::cli {

struct State {
  world::DiskFiles files;
  world::SystemClock clock;
  std::unique_ptr<cache::SqliteMemo> memo;
  std::unique_ptr<cache::SqliteLedger> ledger;
  std::unique_ptr<cache::FolderBlobStore> blobs;
};

// Opens or makes what is in the campaign's state folder. `warning`: see SqliteMemo::open.
Result<std::unique_ptr<State>> open_state(const Campaign& campaign, std::string& warning);

// The variables of this process.
std::map<std::string, std::string> process_environment();
// The fixed variables that every command gets.
std::map<std::string, std::string> command_environment();

}  // namespace evolve::cli
