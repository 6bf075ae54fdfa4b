#include "engine/search/selection/contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace evolve::search {

bool is_same(const Evaluated& a, const Evaluated& b) {
  const bool is_twin = a.structure == b.structure && a.parameters == b.parameters;
  if (is_twin && !a.parameters.empty()) return true;
  return !a.programs.empty() && a.programs == b.programs && a.programs.size() == a.seconds.size();
}

double Contest::tie_width(const Ranked& a, const Ranked& b) const {
  if (resolution_ == 0) return 0;
  return std::max(std::log1p(resolution_), std::hypot(a.half_width, b.half_width));
}

bool Contest::is_tie(const Ranked& a, const Ranked& b) const {
  return std::abs(std::log(a.score / b.score)) <= tie_width(a, b);
}

bool Contest::is_ahead(const Ranked& a, const Ranked& b) const {
  return a.score > b.score && !is_tie(a, b);
}

std::vector<Survivor> Contest::best_of(std::vector<Ranked*> left, size_t count,
                                       size_t contenders) const {
  std::vector<Survivor> out;
  while (!left.empty() && out.size() < count) {
    const Ranked& best = *left.front();
    const Ranked* chosen = &best;
    for (const Ranked* one : left) {
      if (is_tie(best, *one) && one->variant.id < chosen->variant.id) chosen = one;
    }
    const std::string otherwise =
        fmt::format("the {} of {} in contention", out.empty() ? "best" : "best left", contenders);
    Survivor survivor;
    survivor.variant = chosen->variant;
    survivor.score = chosen->score;
    survivor.reason = reason(left, *chosen, otherwise);
    out.push_back(std::move(survivor));
    std::erase_if(left, [&](Ranked* other) {
      if (other == chosen) return true;
      if (!is_same(chosen->variant, other->variant)) return false;
      other->same_as = chosen->variant.id;
      return true;
    });
  }
  return out;
}

std::string Contest::reason(const std::vector<Ranked*>& left, const Ranked& chosen,
                            const std::string& otherwise) const {
  const std::string score = is_relative_ ? fmt::format("{:.4g}x the seed's speed", chosen.score)
                                         : fmt::format("score {:.4g}", chosen.score);
  const Ranked& best = *left.front();
  for (const Ranked* rival : left) {
    if (rival == &chosen || !is_tie(best, *rival) || is_same(rival->variant, chosen.variant))
      continue;
    return fmt::format("{}, a tie with '{}' ({:.4g}, within {:.2g} %) that came later", score,
                       rival->variant.id, rival->score, 100 * std::expm1(tie_width(best, *rival)));
  }
  return fmt::format("{}, {}", score, otherwise);
}

}  // namespace evolve::search
