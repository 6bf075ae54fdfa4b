// The reports of all steps on a variant, read as one value: its variant.json, the reports on its
// cases, and the cases of spec.json. The formats are in engine/search/README.md and
// rules/README.md.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/judging.h"
#include "engine/search/selection/selection.h"

namespace evolve::search {

// A case as spec.json has it.
struct CaseRecord {
  JudgedCase judged;
  double weight = 1;
  std::vector<std::string> excused = {};  // steps that the spec excuses (spec.h)
};

// Loads the record of a step for a case: the content of "lower.json", "compile.json", "facts.json"
// …
using LoadRecord =
    std::function<Result<nlohmann::json>(const std::string& case_name, const std::string& file)>;

// All of these return an external error if a record is not in its format.
Result<std::vector<CaseRecord>> read_cases(const nlohmann::json& spec);
// Reads a variant and its reports. `variant`: a variant.json. Asks for the reports in the order of
// judging_reports(), and not for reports that come after `judged`. The rejection is the most
// informative one, and the first of equally informative ones. A program that the model cannot
// follow is rejected only if times are modelled. A step that could not be done does not reject the
// variant, but the variant then does not survive (Evaluated::not_done).
Result<Evaluated> read_evaluated(const nlohmann::json& variant,
                                 const std::vector<CaseRecord>& cases, const LoadRecord& load,
                                 Judged judged = Judged::whole);
// Returns, in one line, why variants cannot be compared with a seed; nullopt: they can be compared.
std::optional<std::string> problem_of_seed(const Evaluated& seed);

}  // namespace evolve::search
