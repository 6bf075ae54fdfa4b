// Recorded rounds of a campaign, read from nothing but the state folder.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cache/ledger.h"
#include "engine/app/options.h"
#include "engine/app/state.h"
#include "engine/core/record.h"

namespace evolve {

// A recorded round.
struct PastRound {
  cache::RecordedRound stored;
  std::vector<cache::RecordedRound> chain;  // records of round 0 to this one
  Record record;                            // all of these as one

  [[nodiscard]] std::string name() const {
    return fmt::format("round-{} of {}", stored.round, stored.campaign);
  }
};

struct Past {
  std::unique_ptr<State> state;
  std::string campaign;

  // Returns a round, "round-3"; empty: the last one. A `record` that is not 0 names a record by its
  // number instead.
  Result<PastRound> load(const std::string& round, int64_t record);
};

// Opens the records of the campaign that the options name, or else of the only campaign in the
// state folder.
Result<Past> open_past(const CampaignFlags& common);

}  // namespace evolve
