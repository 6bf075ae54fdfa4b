// JSON from outside. What is nested deep costs a stack's depth to copy and to write, and no format
// of ours is.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace evolve {

// Discarded where the text is no JSON, or is nested more than 32 deep.
nlohmann::json parse_shallow(std::string_view text);

}  // namespace evolve
