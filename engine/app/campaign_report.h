// Reports on a campaign as JSON, for `build`, `show` and `log`. report/campaign_text.h puts them
// into words.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cache/ledger.h"
#include "engine/app/campaign.h"
#include "engine/build/build.h"
#include "engine/core/result.h"

namespace evolve {

// Returns the report at the end of `build`.
Result<nlohmann::json> build_report(const Campaign& campaign, const BuildSummary& summary,
                                    int round);

// Returns the report of `show` on a variant: its origin, its verdicts, its times, and which variant
// paid for each step.
Result<nlohmann::json> variant_report(const Campaign& campaign, const std::string& variant,
                                      cache::SqliteLedger& ledger);

// Returns the report of `log` on all rounds.
Result<nlohmann::json> rounds_report(const std::string& campaign, cache::RoundTable& log);

}  // namespace evolve
