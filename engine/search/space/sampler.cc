#include "engine/search/space/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/core/text/did_you_mean.h"
#include "engine/search/space/evolution_sampler.h"
#include "engine/search/space/latin_sampler.h"
#include "engine/search/space/local_sampler.h"
#include "engine/search/space/model_sampler.h"
#include "engine/search/space/tpe_sampler.h"

namespace evolve::search {

namespace {

class RandomSampler : public Sampler {
 public:
  using Sampler::Sampler;

 private:
  uint64_t choose() override { return draw_unknown(); }
};

class GridSampler : public Sampler {
 public:
  using Sampler::Sampler;

 private:
  uint64_t choose() override {
    while (knowledge().is_known(first_)) ++first_;
    return first_;
  }

  uint64_t first_ = 0;  // all points before it are known
};

using Made = std::unique_ptr<Sampler>;

template <typename Kind>
Made make(Grid grid, uint64_t seed, size_t /*batch*/) {
  return std::make_unique<Kind>(std::move(grid), seed);
}

Made make_latin(Grid grid, uint64_t seed, size_t batch) {
  return std::make_unique<LatinSampler>(std::move(grid), seed, batch);
}

struct Entry {
  const char* name;
  Made (*make)(Grid, uint64_t, size_t);
};

constexpr std::array kSamplers = {
    Entry{"model", make<ModelSampler>},    Entry{"random", make<RandomSampler>},
    Entry{"grid", make<GridSampler>},      Entry{"latin", make_latin},
    Entry{"local", make<LocalSampler>},    Entry{"evolution", make<EvolutionSampler>},
    Entry{"tpe", make<TreeParzenSampler>},
};

}  // namespace

std::optional<uint64_t> Sampler::next() {
  if (knowledge_.knows_all()) return std::nullopt;
  const uint64_t point = choose();
  knowledge_.give(point);
  return point;
}

std::vector<std::string> sampler_names() {
  std::vector<std::string> out;
  out.reserve(kSamplers.size());
  for (const Entry& entry : kSamplers) out.emplace_back(entry.name);
  return out;
}

Result<std::unique_ptr<Sampler>> make_sampler(std::string_view name, Grid grid, uint64_t seed,
                                              size_t batch) {
  for (const Entry& entry : kSamplers) {
    if (name == entry.name) return entry.make(std::move(grid), seed, batch);
  }
  auto near = nearest(std::string(name), sampler_names());
  return bad_input(fmt::format("unknown sampler '{}'{}", name,
                               near ? fmt::format(", did you mean '{}'?", *near) : ""),
                   "", fmt::format("one of: {}", fmt::join(sampler_names(), ", ")));
}

}  // namespace evolve::search
