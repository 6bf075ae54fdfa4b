// The results of a campaign in its work folder.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/app/campaign.h"
#include "engine/ir/facts.h"
#include "engine/search/history/history.h"

namespace evolve {

// Returns the JSON in a file; null: the file is missing, or is not JSON.
nlohmann::json read_json(const std::string& path);

// A time of a variant for one case.
struct CaseTime {
  TimeKind kind = TimeKind::modelled;
  double seconds = 0;             // of the slower side, if control flow depends on data
  std::optional<double> cheaper;  // of the faster side; nullopt: nothing depends on data
};
std::optional<CaseTime> case_time(const Campaign& campaign, const std::string& variant,
                                  const std::string& case_name);

// Returns the facts of a variant for one case. Nullopt: there are no facts, because the variant did
// not compile, or because the model cannot follow it.
std::optional<ir::Facts> case_facts(const Campaign& campaign, const std::string& variant,
                                    const std::string& case_name);

// Returns the number of the last round that has a selection; 0: no round has one.
int last_round(const Campaign& campaign);
// Returns the selection of a round; nullopt: the round has no selection. External error: the
// round's selection.json is malformed.
Result<std::optional<search::Selection>> selection_of(const Campaign& campaign, int round);
// Returns the history of the campaign's variants up to a round that was built.
Result<search::History> history_of(const Campaign& campaign, int round);
// Returns the folder of a variant. Bad input: the variant is unknown, or was not built.
Result<std::string> built_folder(const Campaign& campaign, const std::string& variant);

}  // namespace evolve
