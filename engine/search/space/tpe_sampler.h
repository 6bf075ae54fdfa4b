// The sampler that compares: where the good points are denser than the bad ones.
//
// The tree-structured Parzen estimator (Bergstra, Bardenet, Bengio, Kégl: Algorithms for
// hyper-parameter optimization, NIPS 2011): what was told is parted into the good, a small share of
// it, and the bad, to which all belong that are not valid. Each part has a density by axis, and of
// some points drawn from the density of the good that one is tried whose density among the good is
// largest by that among the bad: it has the largest expected improvement. A point weighs on its
// place, and where values are numbers on the places around it, less the farther they are; every
// place has a little weight of its own. Pending points count as bad, so that a batch spreads.
#pragma once

#include <vector>

#include "engine/search/space/sampler.h"

namespace evolve::search {

class TreeParzenSampler : public Sampler {
 public:
  using Sampler::Sampler;

 private:
  // By axis, by place; those of an axis sum up to 1.
  using Densities = std::vector<std::vector<double>>;

  uint64_t choose() override;
  [[nodiscard]] Densities densities(const std::vector<uint64_t>& points) const;
  uint64_t draw(const Densities& from);
};

}  // namespace evolve::search
