// The sampler that breeds: differential evolution on the places of the values.
//
// Storn, Price: Differential evolution, a simple and efficient heuristic for global optimization
// over continuous spaces (Journal of Global Optimization 11, 1997), as their DE/rand/1/bin: a point
// is crossed, axis by axis, with the sum of a second one and of the scaled difference between two
// others. Asynchronous: there are no generations. The population is the best of what was told, so
// that a point counts from the moment when it is told of, whoever asked for it. The first points
// are drawn by chance, and so is the place on an axis where a sum leaves it.
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
