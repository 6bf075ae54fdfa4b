// `evolve why` in words: the rows of app/why.h as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace evolve {

// What a build would run or put back, and why.
std::string pending_text(const nlohmann::json& rows);
// Where stored results come from: each, or, unless `is_all`, how many edges are up to date.
std::string stored_text(const nlohmann::json& rows, bool is_all);
// What the last build ran; with `is_all` edge by edge.
std::string last_build_text(const nlohmann::json& last, bool is_all);

}  // namespace evolve
