// Taking the best off a ranking where scores are known only so well: ties go to the earliest
// variant, and two with the same program are one. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/search/selection/selection.h"

namespace evolve::search {

// Ids count through the campaign: v9999 is before v10000.
bool is_earlier(const std::string& a, const std::string& b);

// With the same program, or with the same parameters of the same structure.
bool is_same(const Evaluated& a, const Evaluated& b);

class Contest {
 public:
  // Scores nearer than `resolution`, a share, are ties, and so are those that their intervals leave
  // open; 0: only the scores themselves count, as points.
  Contest(double resolution, bool is_relative)
      : resolution_(resolution), is_relative_(is_relative) {}

  // Whether `a` is ahead of `b` by more than a tie.
  [[nodiscard]] bool is_ahead(const Ranked& a, const Ranked& b) const;

  // The best `count` of `left`, which are sorted by score, each with the reason why; those that are
  // the same as one of these are marked so, and are not among them. `contenders` is how many there
  // were, for the reasons.
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
