// The sampler that walks: outward from the best points, one step in one parameter, then two, …
//
// This is a hill climb that is never stuck (Hoos and Stützle: Stochastic local search, 2004, on
// neighbourhoods of growing size). If no point is left at a distance of one step, the sampler looks
// at two steps, then three, then four. The sweep uses the walk in this file, too.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/search/space/sampler.h"

namespace evolve::search {

// A value that an axis may take, and how many steps away it is.
struct Step {
  int64_t value;
  int distance;
};

// Returns the values of an ascending list within four steps of `from`, which comes first, at
// distance 0. If `from` is not in the list, either neighbour is one step away.
std::vector<Step> steps_along(const std::vector<int64_t>& values, int64_t from);

// One value for each axis, in the order of the axes.
using AxisValues = std::vector<int64_t>;

// Draws one of the nearest free points, each with the same chance. Nullopt: no point is free within
// four steps. `steps` has the values that can be reached on each axis. The first value of each axis
// is the start of the walk. An error of `is_free` is passed on.
Result<std::optional<AxisValues>> draw_near(
    const std::vector<std::vector<Step>>& steps,
    const std::function<Result<bool>(const AxisValues&)>& is_free, Random& random);

// Walks from the few best points in turn. On an axis whose values are not numbers, any value is one
// step from any other. Until a point is told, the sampler walks from the grid's middle. While no
// told point is valid, and when no point is left near the best, the sampler draws by chance.
class LocalSampler : public Sampler {
 public:
  using Sampler::Sampler;

 private:
  uint64_t choose() override;
  std::optional<uint64_t> near(uint64_t from);

  size_t turn_ = 0;
};

}  // namespace evolve::search
