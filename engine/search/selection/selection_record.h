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
  std::vector<std::string> excused = {};  // the spec's: steps that need not be done
};

// A round before this one, as its selection.json has it.
struct PreviousSelection {
  int round = 0;
  std::vector<Survivor> survivors;  // number i is lineage i + 1
  std::vector<int> places;          // by place of the next round, the survivor's number from 1
  int lineages_made = 0;
  ModelError model;

  // The number, from 1, of the survivor that a place of the next round was given to; 0: to none, so
  // that it is the seed's.
  [[nodiscard]] size_t parent_of(size_t place) const {
    const size_t number = place < places.size() ? static_cast<size_t>(places[place]) : 0;
    return number > survivors.size() ? 0 : number;
  }
};

// Loads the record of a step for a case: the content of "lower.json", "compile.json", "facts.json"
// …
using LoadRecord =
    std::function<Result<nlohmann::json>(const std::string& case_name, const std::string& file)>;

// All of these give an external error for a record that is not in its format.
Result<std::vector<CaseRecord>> read_cases(const nlohmann::json& spec);
// `variant` is a variant.json. Asks for the records in the order of judging_reports; the first that
// rejects is the variant's rejection; but what the model cannot follow is none where times are
// measured. A step that could not be done is no rejection, but such a variant does not survive
// (Evaluated::not_done). Records that come after `judged` are not asked for.
Result<Evaluated> read_evaluated(const nlohmann::json& variant,
                                 const std::vector<CaseRecord>& cases, const LoadRecord& load,
                                 Judged judged = Judged::whole);
// Why a seed cannot be what variants are compared with, in one line; nothing where it can.
std::optional<std::string> problem_of_seed(const Evaluated& seed);
// The parts that records have in common: who a variant is, under the key `id_key`; and why it was
// turned down.
Result<Evaluated> read_variant_core(const nlohmann::json& from, const char* id_key,
                                    const std::string& record);
Result<Rejection> read_rejection(const nlohmann::json& from);
nlohmann::json rejection_record(const Rejection& rejection);
Result<PreviousSelection> read_selection(const nlohmann::json& selection);

// Of a selection that others wrote: whether all that is shown of one has the form in which
// selection_record() writes it. What is not there is not wrong.
Status check_selection_form(const nlohmann::json& selection);

nlohmann::json selection_record(const Selection& selection);

// A variant.json.
nlohmann::json variant_record(const std::string& id, int round,
                              const std::vector<std::string>& parents, const std::string& mutator,
                              const Point& parameters, const std::string& note);
// Its `problem`, where what was proposed is no kernel.
nlohmann::json problem_record(const Problem& problem);

}  // namespace evolve::search
