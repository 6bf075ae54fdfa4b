// The sampler that breeds: differential evolution on the places of the values.
//
// This is DE/rand/1/bin (Storn, Price: Differential evolution, a simple and efficient heuristic for
// global optimization over continuous spaces, Journal of Global Optimization 11, 1997). A point is
// crossed, axis by axis, with the sum of a second point and the scaled difference between two
// others. The sampler is asynchronous: it has no generations. The population consists of the best
// told points. So a point counts as soon as it is told, even if the sampler did not give it. The
// first points are drawn by chance. If a sum is not on the axis, the place on the axis is drawn by
// chance, too.
#pragma once

#include "engine/search/space/sampler.h"

namespace evolve::search {

class EvolutionSampler : public Sampler {
 public:
  using Sampler::Sampler;

 private:
  uint64_t choose() override;
  uint64_t breed(size_t population);
  size_t mutated_place(size_t axis, uint64_t onto, uint64_t plus, uint64_t minus);
};

}  // namespace evolve::search
