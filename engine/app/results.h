// The results of a campaign, as they lie in its work folder.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/app/campaign.h"
#include "engine/search/history/history.h"

namespace evolve {

// The JSON in a file; null where the file is absent or no JSON.
nlohmann::json read_json(const std::string& path);

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

}  // namespace evolve
