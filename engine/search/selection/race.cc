#include "engine/search/selection/race.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace evolve::search {

namespace {

double low(const Standing& standing) {
  return standing.mean - standing.half_width;
}
double high(const Standing& standing) {
  return standing.mean + standing.half_width;
}

// Returns the limit of the race. A runner beyond the limit is slower than `top_k` others, even at
// the slow ends of their intervals.
double limit_of(const std::vector<Contender>& runners, std::vector<Contender> all, size_t top_k) {
  all.insert(all.end(), runners.begin(), runners.end());
  std::stable_sort(all.begin(), all.end(), [](const Contender& a, const Contender& b) {
    return high(a.standing) < high(b.standing);
  });
  std::set<std::map<std::string, std::string>> seen;
  for (const Contender& one : all) {
    const bool is_twin = !one.programs.empty() && !seen.insert(one.programs).second;
    if (!is_twin && --top_k == 0) return high(one.standing);
  }
  return INFINITY;
}

}  // namespace

Standing standing_of(const std::map<std::string, Ratio>& ratios,
                     const std::vector<BenchCase>& cases) {
  Standing out;
  double weights = 0, variance = 0;
  for (const BenchCase& one : cases) {
    weights += one.weight;
    auto found = ratios.find(one.name);
    if (found == ratios.end()) continue;
    out.mean += one.weight * std::log(found->second.value);
    const double half = one.weight * found->second.half_width();
    variance += half * half;
  }
  out.mean /= weights;
  out.half_width = std::sqrt(variance) / weights;
  return out;
}

std::vector<Admission> race(const std::vector<Contender>& runners,
                            const std::vector<Contender>& leaders, size_t top_k, size_t finalists) {
  const double limit = limit_of(runners, leaders, top_k);
  std::vector<Admission> out;
  std::vector<size_t> left;
  for (const auto& [id, standing, programs] : runners) {
    out.push_back({id, low(standing) <= limit});
    if (out.back().is_in) {
      left.push_back(out.size() - 1);
    } else {
      out.back().reason = fmt::format("clearly slower than the best: {:.3f} of the seed's time",
                                      std::exp(standing.mean));
    }
  }
  std::stable_sort(left.begin(), left.end(), [&](size_t a, size_t b) {
    return runners[a].standing.mean < runners[b].standing.mean;
  });
  for (size_t i = finalists; i < left.size(); ++i) {
    Admission& admission = out[left[i]];
    admission.is_in = false;
    admission.reason = fmt::format(
        "rank {} of the remaining variants, but only {} are measured again: {:.3f} of the seed's "
        "time",
        i + 1, finalists, std::exp(runners[left[i]].standing.mean));
  }
  return out;
}

}  // namespace evolve::search
