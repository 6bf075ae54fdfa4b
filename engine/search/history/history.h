// What became of every variant so far: what mutators learn from, and how a program that is known is
// told from a new one. Pure.
//
// history.jsonl has a line of JSON a variant, the seed's first, in the order of their ids; a
// round's selection takes over the lines of the round before and appends its own. Its keys are in
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
  // SHA-256, which Python has, too: of the canonical source, and of it without the values of its
  // parameters. Sources with the same structure differ in nothing that a sweep does not change.
  std::string source;
  std::string structure;
  std::string program;          // digest of its timed programs; empty: it was not lowered
  std::string known_as;         // the first variant with that program; empty: it is new
  std::optional<double> score;  // as its round's selection has it; none: rejected or ruled out
  double half_width = 0;        // of the 95 % interval of the score's logarithm; 0: it was modelled
  std::optional<Rejection> rejection;  // without its evidence
  nlohmann::json exchange;             // with a language model; null: there was none
};
using History = std::vector<PastVariant>;

// One name for a variant's programs, by timed case; empty where one of them was not lowered.
std::string program_of(const std::map<std::string, std::string>& digests,
                       const std::vector<BenchCase>& cases);

// What became of a round's variants, as `selection` judged them; where nothing was `before`, the
// seed first. Its lines go behind those.
History history_of_round(const History& before, const SelectionRequest& request,
                         const Selection& selection);

// Of history.jsonl. External error for what is no such text, with the line's number.
Result<History> read_history(std::string_view lines);
std::string history_lines(const History& history);

}  // namespace evolve::search
