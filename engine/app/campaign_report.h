// What `build`, `show` and `log` report of a campaign, as JSON. report/campaign_text.h has the
// words.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cache/ledger.h"
#include "engine/app/campaign.h"
#include "engine/build/build.h"
#include "engine/core/result.h"

namespace evolve {

// What `build` reports at its end.
nlohmann::json build_report(const Campaign& campaign, const BuildSummary& summary, int round);

// What `show` reports of a variant: its origin, its verdicts, its times, and who paid for each
// step.
Result<nlohmann::json> variant_report(const Campaign& campaign, const std::string& variant,
                                      cache::SqliteLedger& ledger);

// What `log` reports of all rounds.
Result<nlohmann::json> rounds_report(const std::string& campaign, cache::SqliteLedger& ledger);

}  // namespace evolve
