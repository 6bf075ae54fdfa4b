// What changed from one program's facts to another's.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/core/result.h"

namespace evolve::ir {

// Differences below this share of the time are ties: the model does not order what lies closer.
constexpr double kTie = 0.03;

// Both arguments are facts, as write_facts gives them. The result:
//   targets      [before, after]
//   seconds      [before, after], modelled
//   is_tie       whether the model cannot order them
//   by_cause     a list: cause, what, seconds [before, after], difference; these add up to the
//   whole,
//                largest change first
//   kernels      a list, as by_cause, by the name without its number: name, seconds, difference
//   counts       a list of what else changed: what, unit, values [before, after]
//   sections     a list, of the modules that are in both once: module, seconds, difference,
//   sections
//                [before, after] as in facts, null where there is none; both null: all other
//                sections of the module, or, where that is "", all other modules
// Bad input: facts of another form.
Result<nlohmann::json> compare_facts(const nlohmann::json& before, const nlohmann::json& after);

}  // namespace evolve::ir
