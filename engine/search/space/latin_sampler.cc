#include "engine/search/space/latin_sampler.h"

#include <algorithm>
#include <numeric>

namespace evolve::search {

uint64_t LatinSampler::choose() {
  for (bool is_new = drawn_.empty();; is_new = true) {
    if (drawn_.empty()) draw_batch();
    while (!drawn_.empty()) {
      const uint64_t point = drawn_.back();
      drawn_.pop_back();
      if (!knowledge().is_known(point)) return point;
    }
    if (is_new) return draw_unknown();
  }
}

void LatinSampler::draw_batch() {
  drawn_.assign(batch_, 0);
  std::vector<size_t> strata(batch_);
  for (size_t axis = 0; axis < grid().axes().size(); ++axis) {
    const size_t count = grid().axes()[axis].count;
    std::iota(strata.begin(), strata.end(), 0);
    for (size_t i = batch_; i-- > 1;) std::swap(strata[i], strata[random().below(i + 1)]);
    for (size_t i = 0; i < batch_; ++i) {
      const double at = (static_cast<double>(strata[i]) + random().unit()) /
                        static_cast<double>(batch_) * static_cast<double>(count);
      // If unit() is just below 1, `at` may be rounded up to `count`.
      drawn_[i] = grid().moved(drawn_[i], axis, std::min(static_cast<size_t>(at), count - 1));
    }
  }
}

}  // namespace evolve::search
