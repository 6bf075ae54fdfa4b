// A sampler's knowledge of its grid: the points that were handed out and not reported on yet, and
// the costs that were reported.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "engine/search/space/grid.h"
#include "engine/search/space/random.h"

namespace evolve::search {

class Knowledge {
 public:
  struct Observed {
    uint64_t point = 0;
    std::optional<double> cost;  // nullopt: not valid
  };

  explicit Knowledge(Grid grid) : grid_(std::move(grid)) {}

  // Records that a point was given. The point is pending until its cost is told.
  void give(uint64_t point);
  // Records a point's cost. Only the first cost that is told of a point counts.
  void tell(uint64_t point, std::optional<double> cost);

  [[nodiscard]] const Grid& grid() const { return grid_; }
  // The told points, in the order in which they were told.
  [[nodiscard]] const std::vector<Observed>& told() const { return observed_; }
  // The valid points of told(), the best first; of equal points, the earliest first.
  [[nodiscard]] const std::vector<Observed>& ranked() const { return ranked_; }
  // The pending points, in the order in which they were given.
  [[nodiscard]] const std::vector<uint64_t>& pending() const { return pending_; }
  // The number of points that are told or pending.
  [[nodiscard]] size_t known() const { return known_.size(); }
  [[nodiscard]] bool is_known(uint64_t point) const { return known_.contains(point); }
  [[nodiscard]] bool knows_all() const { return known_.size() == grid_.size(); }
  // Draws one of the points that are not known, each with about the same chance. REQUIRES:
  // !knows_all().
  uint64_t draw_unknown(Random& random) const;

 private:
  Grid grid_;
  std::unordered_set<uint64_t> known_;
  std::vector<Observed> observed_;
  std::vector<Observed> ranked_;
  std::vector<uint64_t> pending_;
};

}  // namespace evolve::search
