// The text of `evolve analyze` on a program, and on two, for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace evolve {

// Puts facts (engine/ir/facts.h) into words.
std::string facts_text(const nlohmann::json& facts);

// Puts a comparison (engine/ir/compare.h) into words.
std::string comparison_text(const nlohmann::json& comparison);

}  // namespace evolve
