// Recorded rounds of a campaign, read only from the state folder.
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
  std::vector<cache::RecordedRound> chain;  // the records of round 0 to this round
  Record record;                            // the records of the chain as one record

  [[nodiscard]] std::string name() const {
    return fmt::format("round-{} of {}", stored.round, stored.campaign);
  }
};

struct Past {
  std::unique_ptr<State> state;
  std::string campaign;

  // Returns the round that `round` names ("round-3"; empty: the last round). If `record` is not 0,
  // returns the round of the record with this number instead.
  Result<PastRound> load(const std::string& round, int64_t record);
};

// Opens the records of the campaign that the options name, or else of the only campaign in the
// state folder.
Result<Past> open_past(const CampaignFlags& common);

}  // namespace evolve
