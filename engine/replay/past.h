// What was recorded: the rounds of a campaign, from the state folder alone.
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
  cache::StoredRecord stored;
  std::vector<cache::StoredRecord> chain;  // of round 0 to this one
  Record record;                           // of all of them

  [[nodiscard]] std::string name() const {
    return fmt::format("round-{} of {}", stored.round, stored.campaign);
  }
};

struct Past {
  std::unique_ptr<State> state;
  std::string campaign;

  // A round, "round-3", the last one where it is empty; or a record by its number, where that is
  // not 0.
  Result<PastRound> load(const std::string& round, int64_t record);
};

// The records of the campaign that is meant, or of the only one that there is.
Result<Past> open_past(const SessionOptions& common);

}  // namespace evolve
