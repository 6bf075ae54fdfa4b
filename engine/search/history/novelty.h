// The novelty rule: which of a round's variants are too near to an earlier variant to be worth
// paying for. Pure: the result depends on the order of the variants' ids, and not on which was
// built first.
//
// The distance of two variants is the largest distance of their timed cases (sketch.h). It is 1 if
// their parameters differ: points of a sweep differ by their sizes, however few operations the
// sizes change. A variant whose distance to an earlier one is below the rule's is a near-duplicate.
// An earlier variant counts only under two conditions:
//   * It is no near-duplicate itself. So in a chain of small steps the distance is taken from the
//     last step that counted.
//   * It passed: it is the seed, or of an earlier round, and no step rejected it. A small change to
//     a rejected variant may mend it.
//
// Variants of one round do not count for each other, because nobody knows yet which of them pass.
// So neighbours in one round are judged once each, and from the next round on only those that
// passed count. A variant whose programs are all known is no near-duplicate, because known programs
// cost nothing. That holds within one round, too.
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

// The kind of a near-duplicate's rejection.
constexpr const char* kNearDuplicate = "near-duplicate";
[[nodiscard]] bool is_near_duplicate(const PastVariant& past);

struct Sketched {
  VariantId id;
  int round = 0;
  Point parameters;
  std::string program = {};                     // as in the history
  std::map<std::string, Sketch> sketches = {};  // by timed case
};

struct NoveltyEntry {
  VariantId id;
  VariantId nearest;               // the nearest earlier variant, if there is a distance
  std::optional<double> distance;  // to `nearest`; nullopt: no earlier variant is comparable
  bool is_known = false;           // its programs are those of an earlier variant
  bool is_near = false;
};

// The distance of two variants, from 0 to 1.
double distance(const Sketched& one, const Sketched& other);

// Returns an entry for each of `variants`: the round's variants with a program in every case, in
// the order of their ids. `earlier` are the variants of the rounds before (in the first round: the
// seed) that were no near-duplicates when their round was built. `history` says what became of
// them. Removes the variants from `earlier` that were rejected since, and appends this round's new
// ones for the next round.
std::vector<NoveltyEntry> near_duplicates(const std::vector<Sketched>& variants, double least,
                                          const History& history, std::vector<Sketched>& earlier);

// sketches.jsonl: one line of JSON for each variant.
Result<std::vector<Sketched>> read_sketches(std::string_view lines);
std::string sketch_lines(const std::vector<Sketched>& all);

}  // namespace evolve::search
