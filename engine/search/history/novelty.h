// Which of a round's variants are too near to an earlier one to be paid for. Pure; it depends on
// the order of the variants' ids, and not on which was built first.
//
// The distance of two variants is the largest of those of their timed cases (sketch.h), and 1 where
// their parameters differ: points of a sweep are told apart by their sizes, however few operations
// these change. A variant whose distance to an earlier one is below the rule's is a near-duplicate.
// An earlier one counts
//   * if it is no near-duplicate itself, so that a chain of small steps goes on from where the
//     last step counted;
//   * if it passed: it is the seed, or of a round before, and no step rejected it. A small change
//     may mend what was wrong.
// Variants of one round do not count for each other: which of them pass is not known yet. So
// neighbours in one round are judged once each, and from the next round on only those that passed
// count. A variant whose programs are known as a whole is no near-duplicate: what is known of them
// costs nothing, in the same round, too.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/history/history.h"
#include "engine/search/history/sketch.h"
#include "engine/search/space/space.h"

namespace evolve::search {

// The kind of the rejection.
constexpr const char* kNearDuplicate = "near-duplicate";
[[nodiscard]] bool is_near_duplicate(const PastVariant& past);

struct Sketched {
  std::string id;
  int round = 0;
  Point parameters;
  std::string program;                     // as in the history
  std::map<std::string, Sketch> sketches;  // by timed case
};

struct NoveltyEntry {
  std::string id;
  std::string nearest;             // the earlier variant that is nearest; empty: none is comparable
  std::optional<double> distance;  // from that one
  bool is_known = false;           // its programs are those of an earlier variant
  bool is_near = false;
};

// 0 to 1.
double distance(const Sketched& one, const Sketched& other);

// `variants` are those of a round with a program in every case, in the order of their ids.
// `earlier` are those of the rounds before (of the first round: the seed) that were no
// near-duplicates when their round was built, and `history` what became of them. Gives an entry for
// each of `variants`. Takes those out of `earlier` that were rejected since, and appends the new
// ones of this round, for the next.
std::vector<NoveltyEntry> near_duplicates(const std::vector<Sketched>& variants, double least,
                                          const History& history, std::vector<Sketched>& earlier);

// sketches.jsonl: a line of JSON each.
Result<std::vector<Sketched>> read_sketches(std::string_view lines);
std::string sketch_lines(const std::vector<Sketched>& all);

}  // namespace evolve::search
