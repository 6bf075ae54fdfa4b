// The novelty rule, which finds a round's variants that are too near to an earlier variant to be
// worth judging. Pure: the result depends on the order of the variants' ids, and not on the order
// in which they were built.
//
// The distance of two variants is the largest distance of their programs for a timed case
// (sketch.h). If their parameters differ, the distance is 1. The reason is that points of a sweep
// differ by their sizes, however few operations the sizes change. A variant is a near-duplicate if
// its distance to an earlier variant is below the rule's least distance. An earlier variant counts
// only under two conditions:
//   * It is not a near-duplicate. So in a chain of small steps the distance is taken from the last
//     step that counted.
//   * It passed: it is the seed, or a variant of an earlier round that no step rejected. Rejected
//     variants do not count, because a small change may repair them.
//
// Variants of one round are not compared with each other, because it is not yet known which of them
// pass. So two near variants of one round are both judged. From the next round on, the variants
// that passed count. A variant whose programs are all known is not a near-duplicate, because known
// programs cost nothing. This is also true of programs that are known from the same round.
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
// the order of their ids. `earlier` are the variants of the rounds before (in the first round, the
// seed) that were not near-duplicates when their round was built. `history` has their results.
// Removes from `earlier` the variants that were rejected since then, and appends this round's new
// variants for the next round.
std::vector<NoveltyEntry> near_duplicates(const std::vector<Sketched>& variants, double least,
                                          const History& history, std::vector<Sketched>& earlier);

// Reads sketches.jsonl, which has one line of JSON for each variant.
Result<std::vector<Sketched>> read_sketches(std::string_view lines);
std::string sketch_lines(const std::vector<Sketched>& all);

}  // namespace evolve::search
