// The sampler that spreads: batches in which no value of an axis is favoured.
//
// Latin hypercube sampling (McKay, Beckman, Conover: A comparison of three methods for selecting
// values of input variables in the analysis of output from a computer code, 1979): in a batch of n
// points each axis is cut into n strata of the same size, and every stratum has one point, in an
// order of its own by axis. A value's share of an axis may hold several strata, or a stratum
// several values; in it the place is drawn by chance. Points that are known already are left out;
// a batch that has no other gives way to draws by chance.
#pragma once

#include <vector>

#include "engine/search/space/sampler.h"

namespace evolve::search {

class LatinSampler : public Sampler {
 public:
  LatinSampler(Grid grid, uint64_t seed, size_t batch)
      : Sampler(std::move(grid), seed), batch_(batch) {}

 private:
  uint64_t choose() override;
  void draw_batch();

  size_t batch_;
  std::vector<uint64_t> drawn_;  // what is left of the batch, the next one last
};

}  // namespace evolve::search
