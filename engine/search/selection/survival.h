// The selection of a round's survivors, with the parts that all policies share.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "engine/search/selection/contest.h"
#include "engine/search/selection/selection.h"

namespace evolve::search {

// Returns the variants of a list that meet a condition.
template <typename Condition>
std::vector<Ranked*> filtered(const std::vector<Ranked*>& all, Condition condition) {
  std::vector<Ranked*> out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out),
               [&](const Ranked* ranked) { return condition(ranked->variant); });
  return out;
}

class Survival {
 public:
  // Both arguments must outlive this object. `selection` has its ranking already.
  Survival(const SelectionRequest& request, Selection& selection);

  [[nodiscard]] const SelectionRequest& request() const { return request_; }
  [[nodiscard]] const SelectionRule& rule() const { return request_.rule; }
  [[nodiscard]] Selection& selection() { return selection_; }
  [[nodiscard]] const Contest& contest() const { return contest_; }
  // Returns the variants that may survive, by score. Their times are confirmed, and all their steps
  // were done.
  [[nodiscard]] const std::vector<Ranked*>& candidates() const { return candidates_; }

  // Returns the best of a list; a tie goes to the earliest variant (contest.h).
  [[nodiscard]] std::vector<Survivor> best_of(const std::vector<Ranked*>& from, int count) const;
  // Returns the candidate with that id, or null.
  [[nodiscard]] Ranked* ranked(VariantId id) const;
  [[nodiscard]] bool is_of_this_round(const Evaluated& variant) const {
    return variant.round == request_.round;
  }

  // Orders the survivors by score. The first is the best by the contest, in which a tie goes to the
  // earliest variant.
  void order_survivors();
  // Gives the next round's places to the survivors in turn.
  void give_places_in_turn();
  // Shifts the places by one each round. A mutator has the same places in each round, so the shift
  // gives it each survivor in turn.
  void shift_places();

 private:
  const SelectionRequest& request_;
  Selection& selection_;
  Contest contest_;
  std::vector<Ranked*> candidates_;
};

}  // namespace evolve::search
