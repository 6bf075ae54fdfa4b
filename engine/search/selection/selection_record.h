// The JSON records that a selection reads and writes; formats in engine/search/README.md.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/judging.h"
#include "engine/search/proposal/adoption.h"
#include "engine/search/selection/selection.h"

namespace evolve::search {

// A case as spec.json has it.
struct CaseRecord {
  JudgedCase judged;
  double weight = 1;
  std::vector<std::string> excused = {};  // by the spec: steps that need not be done
};

// A previous round, as its selection.json has it.
struct PreviousSelection {
  int round = 0;
  std::vector<Survivor> survivors;  // number i is lineage i + 1
  std::vector<int> places;          // by place of the next round: the survivor's number, from 1
  int lineages_made = 0;
  ModelError model;

  // Returns the number, from 1, of the survivor that got a place of the next round; 0: no survivor
  // got it, so that it is the seed's.
  [[nodiscard]] size_t parent_of(size_t place) const {
    const size_t number = place < places.size() ? static_cast<size_t>(places[place]) : 0;
    return number > survivors.size() ? 0 : number;
  }
};

// Loads the record of a step for a case: the content of "lower.json", "compile.json", "facts.json"
// …
using LoadRecord =
    std::function<Result<nlohmann::json>(const std::string& case_name, const std::string& file)>;

// All of these return an external error if a record is not in its format.
Result<std::vector<CaseRecord>> read_cases(const nlohmann::json& spec);
// Reads a variant and its reports. `variant`: a variant.json. Asks for the reports in the order of
// judging_reports(), and not for reports that come after `judged`. The rejection is the first one
// that says most. A program that the model cannot follow is rejected only if times are modelled. A
// step that could not be done does not reject the variant, but such a variant does not survive
// (Evaluated::not_done).
Result<Evaluated> read_evaluated(const nlohmann::json& variant,
                                 const std::vector<CaseRecord>& cases, const LoadRecord& load,
                                 Judged judged = Judged::whole);
// Returns, in one line, why variants cannot be compared with a seed; nullopt: they can.
std::optional<std::string> problem_of_seed(const Evaluated& seed);
// The parts that records have in common: the identity of a variant, under the key `id_key`, and the
// reason of its rejection.
Result<Evaluated> read_variant_core(const nlohmann::json& from, const char* id_key,
                                    const std::string& record);
Result<Rejection> read_rejection(const nlohmann::json& from);
nlohmann::json rejection_record(const Rejection& rejection);
Result<PreviousSelection> read_selection(const nlohmann::json& selection);

// Checks a selection that others wrote. Everything that is shown of a selection must have the form
// in which selection_record() writes it. A missing member is not an error.
Status check_selection_form(const nlohmann::json& selection);

nlohmann::json selection_record(const Selection& selection);

// Returns a variant.json.
nlohmann::json variant_record(const std::string& id, int round,
                              const std::vector<std::string>& parents, const std::string& mutator,
                              const Point& parameters, const std::string& note);
// Returns the `problem` of a variant.json, for a proposal that is not a kernel.
nlohmann::json problem_record(const Problem& problem);

}  // namespace evolve::search
