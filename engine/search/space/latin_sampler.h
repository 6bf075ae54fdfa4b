// The sampler that spreads: batches in which no value of an axis is favoured.
//
// This is Latin hypercube sampling (McKay, Beckman, Conover: A comparison of three methods for
// selecting values of input variables in the analysis of output from a computer code, 1979). For a
// batch of n points each axis is cut into n strata of the same size. Every stratum gets one point,
// and each axis has its own random order. A value's share of an axis may contain several strata, or
// a stratum may contain several values. Within a stratum the place is drawn by chance. Points that
// are known already are left out. If a batch has only known points, a point is drawn by chance.
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
  std::vector<uint64_t> drawn_;  // the rest of the batch, the next point last
};

}  // namespace evolve::search
