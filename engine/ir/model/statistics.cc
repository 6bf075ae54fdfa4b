#include "engine/ir/model/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace evolve::ir {

namespace {

// Returns each value's rank among all. Equal values have the mean of their ranks.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<double> out(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    for (double other : values) out[i] += other < values[i] ? 1.0 : other == values[i] ? 0.5 : 0.0;
  }
  return out;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  double mean_a = mean(a);
  double mean_b = mean(b);
  double both = 0;
  double own_a = 0;
  double own_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean_a) * (b[i] - mean_b);
    own_a += (a[i] - mean_a) * (a[i] - mean_a);
    own_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return own_a == 0 || own_b == 0 ? 0 : both / std::sqrt(own_a * own_b);
}

}  // namespace

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  return correlation(ranks(a), ranks(b));
}

}  // namespace evolve::ir
