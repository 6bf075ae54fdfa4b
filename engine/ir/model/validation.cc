#include "engine/ir/model/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "engine/ir/model/statistics.h"

namespace evolve::ir {

namespace {

// The bounds of intervals. Each pair counts in the interval that its difference is in.
constexpr std::array<double, 6> kDifferences = {0, 0.01, 0.03, 0.1, 0.3, INFINITY};

std::vector<OrderedPairs> empty_intervals() {
  std::vector<OrderedPairs> out;
  for (size_t i = 0; i + 1 < kDifferences.size(); ++i)
    out.push_back({kDifferences[i], kDifferences[i + 1], 0, 0});
  return out;
}

void count(std::vector<OrderedPairs>& intervals, double difference, bool is_right) {
  for (OrderedPairs& one : intervals) {
    if (difference < one.least || difference >= one.most) continue;
    ++one.pairs;
    if (is_right) ++one.right;
  }
}

}  // namespace

Result<Validation> validate(const Device& device, std::span<const Observation> observations) {
  Validation out;
  std::vector<const Observation*> rows;  // the modelled ones
  std::vector<double> modelled, measured, scales;
  for (const Observation& one : observations) {
    if (!(one.seconds > 0) || !std::isfinite(one.seconds))
      return bad_input(fmt::format("{} s is not a measured time", one.seconds));
    auto cycles = one.cycles(device);
    const bool is_time = cycles && *cycles > 0 && std::isfinite(*cycles);
    out.modelled.push_back(is_time ? std::optional(*cycles / device.clock_hz) : std::nullopt);
    if (!is_time) {
      out.not_modelled.push_back(cycles
                                     ? fmt::format("no part of '{}' runs in the model", one.group)
                                     : cycles.error().message);
      continue;
    }
    rows.push_back(&one);
    modelled.push_back(*out.modelled.back());
    measured.push_back(one.seconds);
    scales.push_back(measured.back() / modelled.back());
  }
  if (rows.empty()) return bad_input("no measured time is modelled");
  out.scale = median(scales);
  out.rank_correlation = rank_correlation(modelled, measured);
  out.of_groups = out.of_all = empty_intervals();
  std::map<std::string, Family> families;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double error = std::fabs(out.scale * modelled[i] / measured[i] - 1);
    out.error += error / static_cast<double>(rows.size());
    Family& family = families[rows[i]->family];
    family.name = rows[i]->family;
    family.error += error;
    ++family.rows;
    for (size_t j = 0; j < i; ++j) {
      const bool is_right = (modelled[i] < modelled[j]) == (measured[i] < measured[j]);
      const double difference =
          std::max(measured[i], measured[j]) / std::min(measured[i], measured[j]) - 1;
      count(out.of_all, difference, is_right);
      if (rows[i]->group == rows[j]->group) count(out.of_groups, difference, is_right);
    }
  }
  for (auto& [name, family] : families) {
    family.error /= static_cast<double>(family.rows);
    out.families.push_back(std::move(family));
  }
  std::stable_sort(out.families.begin(), out.families.end(),
                   [](const Family& a, const Family& b) { return a.error > b.error; });
  return out;
}

}  // namespace evolve::ir
