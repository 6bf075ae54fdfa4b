// Samplers, which use the costs of the points tried so far to choose the next point of a grid.
// Pure: the same seed and the same costs give the same points.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/space/grid.h"
#include "engine/search/space/knowledge.h"
#include "engine/search/space/random.h"

namespace evolve::search {

class Sampler {
 public:
  Sampler(Grid grid, uint64_t seed) : knowledge_(std::move(grid)), random_(seed) {}
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  virtual ~Sampler() = default;

  // Returns a point that was neither told nor given before. Nullopt: no such point is left. The
  // point is pending until it is told, so several calls in a row give a batch of different points.
  std::optional<uint64_t> next();
  // Takes a point's cost, whether or not the sampler gave the point. A cost is finite and above 0;
  // a lower cost is better. Nullopt: the point is not valid. Only the first cost that is told of a
  // point counts.
  void tell(uint64_t point, std::optional<double> cost) { knowledge_.tell(point, cost); }

 protected:
  // Returns a point that is neither told nor pending. next() calls this only while there is one.
  virtual uint64_t choose() = 0;

  [[nodiscard]] const Knowledge& knowledge() const { return knowledge_; }
  [[nodiscard]] const Grid& grid() const { return knowledge_.grid(); }
  Random& random() { return random_; }
  uint64_t draw_unknown() { return knowledge_.draw_unknown(random_); }

 private:
  Knowledge knowledge_;
  Random random_;
};

// Returns the names that make_sampler() knows, the default first:
//   model      by a regression of the told costs; model_sampler.h
//   random     any point, each with the same chance
//   grid       all points in their order
//   latin      every value about as often as any other of its axis; latin_sampler.h
//   local      outward from the best points; local_sampler.h
//   evolution  differential evolution; evolution_sampler.h
//   tpe        tree-structured Parzen estimator; tpe_sampler.h
std::vector<std::string> sampler_names();

// The default number of points of a batch.
constexpr size_t kBatch = 16;

// Makes the sampler that has this name. `batch`, at least 1: the number of points that the sampler
// gives before it gets the cost of any of them. Bad input: an unknown name.
Result<std::unique_ptr<Sampler>> make_sampler(std::string_view name, Grid grid, uint64_t seed,
                                              size_t batch = kBatch);

}  // namespace evolve::search
