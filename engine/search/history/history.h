// The history: the results of all variants so far. Mutators learn from the history, and it shows
// which programs are known. Pure.
//
// history.jsonl has one line of JSON for each variant, the seed's first, in the order of their ids.
// A round's selection copies the lines of the round before and appends its own. The keys are in
// engine/search/README.md.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/selection/selection.h"

namespace evolve::search {

struct PastVariant : Origin {
  std::string program;                 // digest of its timed programs; empty: not lowered
  std::optional<VariantId> known_as;   // the first variant with that program; nullopt: none
  std::optional<double> score;         // from its round's selection; nullopt: rejected or ruled out
  double half_width = 0;               // of the 95 % interval of the score's logarithm; 0: modelled
  std::optional<Rejection> rejection;  // without its evidence
};
using History = std::vector<PastVariant>;

// Returns one digest of a variant's programs in all timed cases. Empty: the program of some case
// was not lowered.
std::string program_of(const std::map<std::string, std::string>& digests,
                       const std::vector<BenchCase>& cases);

// Returns the records of a round's variants, as `selection` judged them. The caller appends these
// to `before`. If `before` is empty, the seed's record comes first.
History history_of_round(const History& before, const SelectionRequest& request,
                         const Selection& selection);

// Reads history.jsonl. External error: a line is not a record. The error has the line's number.
Result<History> read_history(std::string_view lines);
std::string history_lines(const History& history);

}  // namespace evolve::search
