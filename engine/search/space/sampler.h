// What to try next of a grid, given what the points tried so far cost. Pure: the same seed and the
// same answers give the same points.
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

  // A point that was neither told of nor given before; none when there is no such point left. It is
  // pending until it is told of: several calls in a row give a batch of different points.
  std::optional<uint64_t> next();
  // What a point came to, asked for or not: a finite cost above 0, the less the better; none where
  // the point is not valid. What is told first of a point stands.
  void tell(uint64_t point, std::optional<double> cost) { knowledge_.tell(point, cost); }

 protected:
  // A point that is not known. Called while there is one.
  virtual uint64_t choose() = 0;

  [[nodiscard]] const Knowledge& knowledge() const { return knowledge_; }
  [[nodiscard]] const Grid& grid() const { return knowledge_.grid(); }
  Random& random() { return random_; }
  uint64_t draw_unknown() { return knowledge_.draw_unknown(random_); }

 private:
  Knowledge knowledge_;
  Random random_;
};

// The names that make_sampler knows, the default first:
//   model      by a regression of what was told; model_sampler.h
//   random     any point, each with the same chance
//   grid       all points in their order
//   latin      every value about as often as any other of its axis; latin_sampler.h
//   local      outward from the best points; local_sampler.h
//   evolution  differential evolution; evolution_sampler.h
//   tpe        tree-structured Parzen estimator; tpe_sampler.h
std::vector<std::string> sampler_names();

// How many points are taken to be asked for at once where nobody says.
constexpr size_t kBatch = 16;

// `batch`, at least 1: how many points will be asked for before any of them is told of.
// Bad input: a name that is none of these.
Result<std::unique_ptr<Sampler>> make_sampler(std::string_view name, Grid grid, uint64_t seed,
                                              size_t batch = kBatch);

}  // namespace evolve::search
