#include "engine/search/selection/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/search/space/random.h"

namespace evolve::search {

std::optional<double> modelled_ratio(const std::map<std::string, double>& modelled,
                                     const std::map<std::string, double>& of_seed,
                                     const std::vector<BenchCase>& cases) {
  double sum = 0, weights = 0;
  for (const BenchCase& one : cases) {
    auto time = modelled.find(one.name), unit = of_seed.find(one.name);
    if (time == modelled.end() || unit == of_seed.end()) return std::nullopt;
    sum += one.weight * std::log(time->second / unit->second);
    weights += one.weight;
  }
  if (weights <= 0) return std::nullopt;
  return sum / weights;
}

double cut_width(double margin, const ModelError& so_far) {
  constexpr size_t kFewest = 3;
  // Two standard deviations of the difference of two errors. The unit is one error's standard
  // deviation.
  constexpr double kDeviations = 2 * 1.41421356;
  const double asked = std::log1p(margin);
  return so_far.compared < kFewest ? asked : std::max(asked, kDeviations * so_far.error);
}

std::vector<Admission> cut(std::vector<Contender> variants, std::vector<Contender> leaders,
                           size_t top_k, double width, uint64_t draw) {
  // Each standing has an interval of half the width to either side. Two standings differ if their
  // intervals do not overlap.
  for (std::vector<Contender>* all : {&variants, &leaders}) {
    for (Contender& one : *all) one.standing.half_width = width / 2;
  }
  std::vector<Admission> out = race(variants, leaders, top_k, variants.size());
  std::vector<size_t> ruled_out;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].is_in) ruled_out.push_back(i);
  }
  for (size_t i : ruled_out) {
    out[i].reason =
        fmt::format("modelled {:.3f} of the seed's time, more than {:.0f} % slower than the best",
                    std::exp(variants[i].standing.mean), 100 * std::expm1(width));
  }
  if (!ruled_out.empty()) {
    Admission& drawn = out[ruled_out[Random(draw).below(ruled_out.size())]];
    drawn.is_in = true;
    drawn.is_spot_check = true;
  }
  return out;
}

}  // namespace evolve::search
