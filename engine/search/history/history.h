// The history: what became of every variant so far. Mutators learn from it, and it tells known
// programs from new ones. Pure.
//
// history.jsonl has one line of JSON for each variant, the seed's first, in the order of their ids.
// A round's selection copies the lines of the round before and appends its own. The keys are in
// engine/search/README.md.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/selection/selection.h"

namespace evolve::search {

struct PastVariant {
  std::string id;
  int round = 0;
  std::string mutator;
  std::vector<std::string> parents;
  Point parameters;
  std::string note;
  // SHA-256, which Python has, too: of the canonical source, and of that source without the values
  // of its parameters. Sources with the same structure differ only in what a sweep changes.
  std::string source;
  std::string structure;
  std::string program;          // digest of its timed programs; empty: it was not lowered
  std::string known_as;         // the first variant with that program; empty: the program is new
  std::optional<double> score;  // as its round's selection has it; nullopt: rejected or ruled out
  double half_width = 0;        // of the 95 % interval of the score's logarithm; 0: it was modelled
  std::optional<Rejection> rejection;  // without its evidence
  nlohmann::json exchange;             // with a language model; null: no exchange
};
using History = std::vector<PastVariant>;

// Returns one digest of a variant's programs in all timed cases. Empty: one of them was not
// lowered.
std::string program_of(const std::map<std::string, std::string>& digests,
                       const std::vector<BenchCase>& cases);

// Returns what became of a round's variants, as `selection` judged them, to be appended to
// `before`. If `before` is empty, the seed comes first.
History history_of_round(const History& before, const SelectionRequest& request,
                         const Selection& selection);

// Reads history.jsonl. External error: a line that is no such record, with its number.
Result<History> read_history(std::string_view lines);
std::string history_lines(const History& history);

}  // namespace evolve::search
