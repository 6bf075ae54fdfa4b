// The text of `evolve analyze` for people, on one program or on the comparison of two.
#pragma once

#include <string>

#include "engine/ir/compare.h"
#include "engine/ir/facts.h"

namespace evolve {

// Puts facts into words.
std::string facts_text(const ir::Facts& facts);

// Puts a comparison into words.
std::string comparison_text(const ir::FactsComparison& comparison);

}  // namespace evolve
