// What to try next of a grid, given what the points tried so far cost. Pure: the same seed and the
// same answers give the same points.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/grid.h"
#include "engine/search/random.h"

namespace evolve::search {

class Sampler {
 public:
  Sampler() = default;
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  virtual ~Sampler() = default;
  // A point that nothing was told of; none when there is no such point left.
  virtual std::optional<uint64_t> next() = 0;
  // What a point came to: a cost above 0, the less the better; none where the point is not valid.
  virtual void tell(uint64_t point, std::optional<double> cost) = 0;
};

// The points of a grid that were told of.
class Tried {
 public:
  explicit Tried(const Grid& grid) : grid_(grid) {}

  void add(uint64_t point) { points_.insert(point); }
  [[nodiscard]] bool contains(uint64_t point) const { return points_.contains(point); }
  [[nodiscard]] bool is_full() const { return points_.size() == grid_.size(); }
  // One of the others, each with about the same chance. REQUIRES: !is_full().
  uint64_t draw_other(Random& random) const;

 private:
  const Grid& grid_;
  std::unordered_set<uint64_t> points_;
};

// The names that make_sampler knows, the default first:
//   model    by a regression of what was told; see model_sampler.h
//   random   any point, each with the same chance
//   grid     all points in their order
std::vector<std::string> sampler_names();

// Bad input: a name that is none of these.
Result<std::unique_ptr<Sampler>> make_sampler(std::string_view name, Grid grid, uint64_t seed);

}  // namespace evolve::search
