// What a campaign came to, in words: the reports of app/campaign_report.h as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace evolve {

// What `build` says at its end.
std::string build_text(const nlohmann::json& report);
// What `show` says of a variant.
std::string variant_text(const nlohmann::json& report);
// What `log` says of all rounds, or of one by its selection.
std::string rounds_text(const nlohmann::json& report);
std::string round_text(const nlohmann::json& selection, bool is_imported);

}  // namespace evolve
