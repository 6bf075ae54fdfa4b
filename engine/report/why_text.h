// The explanation of a build in words and as JSON, for `evolve why` and the dry run.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/build/explanation.h"

namespace evolve {

// Says what a build would run or put back, and why.
std::string pending_text(const std::vector<PendingEdge>& edges);
// Says what the build would run, where stored results come from, and what the last build ran. The
// last two are shown in detail only if nothing is to run.
std::string explanation_text(const Explanation& explanation);

// Returns the rows of `build --dry-run --json`: {output, step, subject, need ("run", "maybe",
// "restore"), reasons}. An edge to restore has `origin` {built_at, built_on, seconds, paid_by,
// build}, or null. An edge that was never built may have `nearest` {output, changes}.
nlohmann::json pending_json(const std::vector<PendingEdge>& edges);
// Returns {pending, stored, last_build}.
nlohmann::json explanation_json(const Explanation& explanation);

}  // namespace evolve
