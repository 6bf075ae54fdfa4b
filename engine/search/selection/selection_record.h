// selection.json: the record of a round's selection. All code that reads or writes the file calls
// these functions. The format is in engine/search/README.md.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/core/result.h"
#include "engine/search/selection/selection.h"

namespace evolve::search {

// Reads a selection that a select step of this campaign wrote. selection_record() of the result is
// the same record. External error: the round or the survivors are missing, or a member does not
// have its form. Any other missing member of the selection gets its default.
Result<Selection> read_selection(const nlohmann::json& selection);
nlohmann::json selection_record(const Selection& selection);

// Returns the record's `best`; null: nothing survived.
nlohmann::json best_record(const Selection& selection);
// Returns the record's `model`.
nlohmann::json model_error_record(const ModelError& model);

// Checks a selection that somebody else wrote. It is only shown, and no round selects from it.
// Every member that is shown must have the form in which selection_record() writes it. A missing
// member is not an error.
Status check_selection_form(const nlohmann::json& selection);

}  // namespace evolve::search
