// What a campaign came to, read from its work folder: times, verdicts, selections; as text or as
// JSON.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cache/ledger.h"
#include "engine/build.h"
#include "engine/cli/campaign.h"
#include "engine/cli/commands.h"
#include "engine/cli/output.h"
#include "engine/search/history.h"

namespace evolve::cli {

// The JSON in a file; null where the file is absent or no JSON.
nlohmann::json read_json(const std::string& path);

// Prints a command's answer: as text, or as JSON where that was asked for.
void print_result(const CommonOptions& common, const nlohmann::json& report,
                  const std::string& text);

// "142.1 us": a duration with the unit that suits it.
std::string duration(double seconds);

// "1.2 MB".
std::string size_text(int64_t bytes);

// A time of a variant for one case. `kind` is "modelled" or "measured".
struct CaseTime {
  std::string kind;
  double seconds = 0;             // of the dearer side of what hangs on data
  std::optional<double> cheaper;  // of the cheaper one; none: nothing does
};
std::optional<CaseTime> case_time(const Campaign& campaign, const std::string& variant,
                                  const std::string& case_name);

// The number of the last round whose selection is there; 0: none.
int last_round(const Campaign& campaign);
// The selection of a round; null where there is none.
nlohmann::json selection_of(const Campaign& campaign, int round);
// What became of the campaign's variants up to a round that was built.
Result<search::History> history_of(const Campaign& campaign, int round);
// The folder of a variant that was built; bad input where there is none.
Result<std::string> built_folder(const Campaign& campaign, const std::string& variant);

// What `build` says at its end.
nlohmann::json build_report(const Campaign& campaign, const BuildSummary& summary, int round);
std::string build_text(const nlohmann::json& report);

// What `show` says of a variant: its origin, its verdicts, its times, and who paid for each step.
Result<nlohmann::json> variant_report(const Campaign& campaign, const std::string& variant,
                                      cache::SqliteLedger& ledger);
std::string variant_text(const nlohmann::json& report);

// What `log` says: of all rounds, or of one.
Result<nlohmann::json> rounds_report(const std::string& campaign, cache::SqliteLedger& ledger);
std::string rounds_text(const nlohmann::json& report);
std::string round_text(const nlohmann::json& selection, bool is_imported);

}  // namespace evolve::cli
