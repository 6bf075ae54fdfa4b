// The text of `evolve why`: the rows of app/why.h in words.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace evolve {

// Says what a build would run or put back, and why.
std::string pending_text(const nlohmann::json& rows);
// Says where stored results come from. Unless `is_all`, says only how many edges are up to date.
std::string stored_text(const nlohmann::json& rows, bool is_all);
// Says what the last build ran; with `is_all` edge by edge.
std::string last_build_text(const nlohmann::json& last, bool is_all);

}  // namespace evolve
