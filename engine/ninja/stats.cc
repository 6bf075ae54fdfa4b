#include "engine/ninja/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace evolve::ninja {

Stats::Timer::Timer(Stats& stats, std::string name)
    : stats_(stats), name_(std::move(name)), start_(stats.clock_.monotonic_seconds()) {}

Stats::Timer::~Timer() {
  auto& metrics = stats_.metrics_;
  auto metric = std::find_if(metrics.begin(), metrics.end(),
                             [&](const Metric& one) { return one.name == name_; });
  if (metric == metrics.end()) metric = metrics.insert(metrics.end(), {name_, 0, 0});
  ++metric->count;
  metric->seconds += stats_.clock_.monotonic_seconds() - start_;
}

void Stats::print(size_t entries, size_t buckets) const {
  size_t width = 0;
  for (const Metric& metric : metrics_) width = std::max(width, metric.name.size());
  fmt::print("{:<{}}\t{:<6}\t{:<9}\t{}\n", "metric", width, "count", "avg (us)", "total (ms)");
  for (const Metric& metric : metrics_) {
    fmt::print("{:<{}}\t{:<6}\t{:<8.1f}\t{:.1f}\n", metric.name, width, metric.count,
               metric.seconds * 1e6 / metric.count, metric.seconds * 1e3);
  }
  fmt::print("\npath->node hash load {:.2f} ({} entries / {} buckets)\n",
             static_cast<double>(entries) / static_cast<double>(buckets), entries, buckets);
}

}  // namespace evolve::ninja
