// The choice of the best of a ranking whose scores are uncertain: ties go to the earliest variant,
// and two variants with the same program count as one. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/search/selection/selection.h"

namespace evolve::search {

// Whether two variants have the same program, or the same parameters of the same structure.
bool is_same(const Evaluated& a, const Evaluated& b);

class Contest {
 public:
  // Scores are ties if they differ by no more than the share `resolution`, or if their intervals
  // leave the order open. If `resolution` is 0, the intervals do not count, and only equal scores
  // are ties.
  Contest(double resolution, bool is_relative)
      : resolution_(resolution), is_relative_(is_relative) {}

  // Whether `a` is ahead of `b` by more than a tie.
  [[nodiscard]] bool is_ahead(const Ranked& a, const Ranked& b) const;

  // Returns the best `count` variants of `left`, each with the reason. `left` is sorted by score. A
  // variant that is the same as a returned variant is not returned, and is marked
  // (Ranked::same_as). `contenders`: the number of variants that the reasons state.
  std::vector<Survivor> best_of(std::vector<Ranked*> left, size_t count, size_t contenders) const;

 private:
  [[nodiscard]] double tie_width(const Ranked& a, const Ranked& b) const;
  [[nodiscard]] bool is_tie(const Ranked& a, const Ranked& b) const;
  [[nodiscard]] std::string reason(const std::vector<Ranked*>& left, const Ranked& chosen,
                                   const std::string& otherwise) const;

  double resolution_;
  bool is_relative_;
};

}  // namespace evolve::search
