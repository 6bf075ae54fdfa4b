// Facts as JSON: the file facts.json, whose schema is in engine/ir/README.md.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/core/result.h"
#include "engine/ir/compare.h"
#include "engine/ir/facts.h"

namespace evolve::ir {

nlohmann::json to_json(const Facts& facts);
nlohmann::json to_json(const WorkFacts& work);
nlohmann::json to_json(const NeededFacts& needed);

// Reads facts. Bad input: the record has another form; the error names the place.
Result<Facts> facts_from_json(const nlohmann::json& record);

// Writes a comparison of two programs:
//   targets      [before, after]
//   seconds      [before, after], modelled
//   difference   seconds after, less seconds before
//   is_tie       whether the model cannot order the two programs
//   by_cause     a list: cause, what, seconds [before, after], difference. The entries add up to
//                the whole; the largest change comes first
//   kernels      a list like by_cause, by the kernel's name without its number: name, seconds,
//                difference
//   counts       a list of other changes: what, unit, values [before, after]
//   sections     a list: module, seconds, difference, sections [before, after] as in facts; null:
//                there is no such section. The list has the modules that each program has once. If
//                both sections are null, the entry holds all other sections of the module, or, for
//                the module "", all other modules
nlohmann::json to_json(const FactsComparison& comparison);

}  // namespace evolve::ir
