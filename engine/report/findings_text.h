// The findings of a doctor, for people and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "engine/core/finding.h"
#include "engine/core/result.h"

namespace evolve {

// Returns a line for each finding, and a line for each hint.
std::string findings_text(std::span<const Finding> findings);
// Returns a list of {"state": "good" | "missing" | "notice", "subject", "text", "hint"}.
nlohmann::json findings_json(std::span<const Finding> findings);
// Failed: something is missing; the message begins with `command` and ends with `consequence`.
Status findings_status(std::span<const Finding> findings, const std::string& command,
                       const std::string& consequence);

}  // namespace evolve
