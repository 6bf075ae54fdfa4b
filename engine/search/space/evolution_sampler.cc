#include "engine/search/space/evolution_sampler.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace evolve::search {

namespace {

constexpr size_t kPopulation = 12;
constexpr size_t kByChance = 12;      // first points, drawn by chance
constexpr size_t kFewestParents = 4;  // to breed from
constexpr double kScale = 0.7;        // of the difference
constexpr double kCross = 0.3;        // chance that an axis takes the sum
constexpr int kAttempts = 30;         // at most, until a child is new

}  // namespace

uint64_t EvolutionSampler::choose() {
  const size_t population = std::min(kPopulation, knowledge().ranked().size());
  if (knowledge().known() < kByChance || population < kFewestParents) return draw_unknown();
  for (int i = 0; i < kAttempts; ++i) {
    uint64_t child = breed(population);
    if (!knowledge().is_known(child)) return child;
    // Children of a converged population are known or all alike, so one axis is drawn by chance.
    const size_t axis = random().below(grid().axes().size());
    child = grid().moved(child, axis, random().below(grid().axes()[axis].count));
    if (!knowledge().is_known(child)) return child;
  }
  return draw_unknown();
}

uint64_t EvolutionSampler::breed(size_t population) {
  // Draws four different members of the population.
  std::array<size_t, kFewestParents> chosen{};
  for (size_t i = 0; i < chosen.size(); ++i) {
    do {
      chosen[i] = random().below(population);
    } while (std::find(chosen.begin(), chosen.begin() + i, chosen[i]) != chosen.begin() + i);
  }
  auto member = [&](size_t i) { return knowledge().ranked()[chosen[i]].point; };
  uint64_t child = member(0);
  const size_t forced = random().below(grid().axes().size());
  for (size_t axis = 0; axis < grid().axes().size(); ++axis) {
    if (random().unit() >= kCross && axis != forced) continue;
    child = grid().moved(child, axis, mutated_place(axis, member(1), member(2), member(3)));
  }
  return child;
}

size_t EvolutionSampler::mutated_place(size_t axis, uint64_t onto, uint64_t plus, uint64_t minus) {
  auto place = [&](uint64_t point) { return static_cast<double>(grid().place(point, axis)); };
  // The sum is rounded by chance, so that a difference of one place is neither always a step nor
  // always lost.
  const double sum = place(onto) + kScale * (place(plus) - place(minus));
  const double at = std::floor(sum + random().unit());
  const size_t count = grid().axes()[axis].count;
  if (at < 0 || at >= static_cast<double>(count)) return random().below(count);
  return static_cast<size_t>(at);
}

}  // namespace evolve::search
