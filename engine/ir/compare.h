// The comparison of two programs' facts: what changed from one to the other.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/core/result.h"

namespace evolve::ir {

// Differences below this share of the time are ties: the model does not order what lies closer.
constexpr double kTie = 0.03;

// Compares two programs. Both arguments are facts, as write_facts gives them. The result:
//   targets      [before, after]
//   seconds      [before, after], modelled
//   is_tie       whether the model cannot order the two programs
//   by_cause     a list: cause, what, seconds [before, after], difference. The entries add up to
//                the whole; the largest change comes first
//   kernels      a list like by_cause, by the kernel's name without its number: name, seconds,
//                difference
//   counts       a list of what else changed: what, unit, values [before, after]
//   sections     a list: module, seconds, difference, sections [before, after] as in facts; null:
//                there is no such section. It has the modules that each program has once. An entry
//                with both null holds all other sections of the module, or, for the module "", all
//                other modules
// Bad input: facts of another form.
Result<nlohmann::json> compare_facts(const nlohmann::json& before, const nlohmann::json& after);

}  // namespace evolve::ir
