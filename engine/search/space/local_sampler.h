// The sampler that walks: outward from the best points, one step in one parameter, then two, …
//
// A hill climb that is never stuck (Hoos and Stützle: Stochastic local search, 2004, on
// neighbourhoods of growing size): where no point is left at one step from where it stands it looks
// at two, then three, then four. The walk itself is here for the sweep, too.
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

// The values of an ascending list within four steps of `from`, which comes first, at no step. A
// value that is not in the list lies between its neighbours, one step from either.
std::vector<Step> steps_along(const std::vector<int64_t>& values, int64_t from);

// Of each axis a value, in the order of the axes.
using Values = std::vector<int64_t>;

// One of the nearest points that are free, each of them with the same chance; none where no point
// is free within four steps. `steps` is what can be reached axis by axis, the value that the walk
// starts from first. An error of `is_free` is passed on.
Result<std::optional<Values>> draw_near(const std::vector<std::vector<Step>>& steps,
                                        const std::function<Result<bool>(const Values&)>& is_free,
                                        Random& random);

// Walks from the few best points in turn. Of an axis whose values are no numbers any value is one
// step from any other. Until something valid was told of it walks from the grid's middle, and if
// that, or what it finds there, is not valid, it draws by chance; so it does when no point is left
// near the best.
class LocalSampler : public Sampler {
 public:
  using Sampler::Sampler;

 private:
  uint64_t choose() override;
  std::optional<uint64_t> near(uint64_t from);

  size_t turn_ = 0;
};

}  // namespace evolve::search
