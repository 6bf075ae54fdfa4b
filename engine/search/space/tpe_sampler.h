// The sampler that compares: it looks where the good points are denser than the bad ones.
//
// This is the tree-structured Parzen estimator (Bergstra, Bardenet, Bengio, Kégl: Algorithms for
// hyper-parameter optimization, NIPS 2011). The told points are divided into good points, a small
// share, and bad points, which include all points that are not valid. Each of the two parts has a
// density for each axis. Some points are drawn from the good density. The sampler tries the point
// with the largest ratio of good density to bad density, because that point has the largest
// expected improvement.
//
// A point adds weight to its place. If the axis's values are numbers, it also adds weight to nearby
// places, and less to places farther away. Every place has a little weight of its own. Pending
// points count as bad, so that a batch spreads.
#pragma once

#include <vector>

#include "engine/search/space/sampler.h"

namespace evolve::search {

class TreeParzenSampler : public Sampler {
 public:
  using Sampler::Sampler;

 private:
  // The density of each place, by axis and by place. The densities of an axis sum up to 1.
  using Densities = std::vector<std::vector<double>>;

  uint64_t choose() override;
  [[nodiscard]] Densities densities(const std::vector<uint64_t>& points) const;
  uint64_t draw(const Densities& from);
};

}  // namespace evolve::search
