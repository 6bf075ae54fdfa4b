#include "engine/search/space/knowledge.h"

#include <algorithm>

namespace evolve::search {

namespace {

constexpr int kBlindDraws = 200;  // random draws before the grid is walked through

}  // namespace

void Knowledge::give(uint64_t point) {
  if (known_.insert(point).second) pending_.push_back(point);
}

void Knowledge::tell(uint64_t point, std::optional<double> cost) {
  if (!known_.insert(point).second) {
    auto given = std::find(pending_.begin(), pending_.end(), point);
    if (given == pending_.end()) return;
    pending_.erase(given);
  }
  observed_.push_back({point, cost});
  if (!cost) return;
  auto is_better = [](const Observed& a, const Observed& b) { return *a.cost < *b.cost; };
  ranked_.insert(std::upper_bound(ranked_.begin(), ranked_.end(), observed_.back(), is_better),
                 observed_.back());
}

uint64_t Knowledge::draw_unknown(Random& random) const {
  for (int i = 0; i < kBlindDraws; ++i) {
    const uint64_t point = random.below(grid_.size());
    if (!is_known(point)) return point;
  }
  uint64_t point = random.below(grid_.size());
  while (is_known(point)) point = (point + 1) % grid_.size();
  return point;
}

}  // namespace evolve::search
