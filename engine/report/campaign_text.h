// The results of a campaign in words: the reports of app/campaign_report.h as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace evolve {

// Returns the text that `build` ends with.
std::string build_text(const nlohmann::json& report);
// Returns the text of `show` on a variant.
std::string variant_text(const nlohmann::json& report);
// Return the text of `log`: on all rounds, or on one round by its selection.
std::string rounds_text(const nlohmann::json& report);
std::string round_text(const nlohmann::json& selection, bool is_imported);

}  // namespace evolve
