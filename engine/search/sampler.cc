#include "engine/search/sampler.h"

#include <fmt/format.h>

#include "engine/core/did_you_mean.h"
#include "engine/search/model_sampler.h"

namespace evolve::search {

namespace {

constexpr int kBlindDraws = 200;  // by chance, before the grid is walked through

class RandomSampler : public Sampler {
 public:
  RandomSampler(Grid grid, uint64_t seed) : grid_(std::move(grid)), tried_(grid_), random_(seed) {}

  std::optional<uint64_t> next() override {
    if (tried_.is_full()) return std::nullopt;
    return tried_.draw_other(random_);
  }
  void tell(uint64_t point, std::optional<double> /*cost*/) override { tried_.add(point); }

 private:
  Grid grid_;
  Tried tried_;
  Random random_;
};

class GridSampler : public Sampler {
 public:
  explicit GridSampler(Grid grid) : grid_(std::move(grid)), tried_(grid_) {}

  std::optional<uint64_t> next() override {
    while (next_ < grid_.size() && tried_.contains(next_)) ++next_;
    if (next_ == grid_.size()) return std::nullopt;
    return next_;
  }
  void tell(uint64_t point, std::optional<double> /*cost*/) override { tried_.add(point); }

 private:
  Grid grid_;
  Tried tried_;
  uint64_t next_ = 0;
};

}  // namespace

uint64_t Tried::draw_other(Random& random) const {
  for (int i = 0; i < kBlindDraws; ++i) {
    const uint64_t point = random.below(grid_.size());
    if (!contains(point)) return point;
  }
  uint64_t point = random.below(grid_.size());
  while (contains(point)) point = (point + 1) % grid_.size();
  return point;
}

std::vector<std::string> sampler_names() {
  return {"model", "random", "grid"};
}

Result<std::unique_ptr<Sampler>> make_sampler(std::string_view name, Grid grid, uint64_t seed) {
  using Made = std::unique_ptr<Sampler>;
  if (name == "model") return Made(std::make_unique<ModelSampler>(std::move(grid), seed));
  if (name == "random") return Made(std::make_unique<RandomSampler>(std::move(grid), seed));
  if (name == "grid") return Made(std::make_unique<GridSampler>(std::move(grid)));
  auto near = nearest(std::string(name), sampler_names());
  return bad_input(fmt::format("unknown sampler '{}'{}", name,
                               near ? fmt::format(", did you mean '{}'?", *near) : ""),
                   "", fmt::format("one of: {}", fmt::join(sampler_names(), ", ")));
}

}  // namespace evolve::search
