// What analyze says of a program, and of two, for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace evolve {

// Of facts (engine/ir/facts.h).
std::string facts_text(const nlohmann::json& facts);

// Of a comparison (engine/ir/compare.h).
std::string comparison_text(const nlohmann::json& comparison);

}  // namespace evolve
