#include "engine/search/space/tpe_sampler.h"

#include <algorithm>
#include <cmath>

namespace evolve::search {

namespace {

constexpr size_t kBeforeParts = 10;  // first points, drawn by chance
constexpr double kGood = 0.1;        // share of the told points
constexpr size_t kMostGood = 25;
constexpr double kPrior = 1;      // the axis's own weight, over all its places, in points
constexpr size_t kAxisShare = 8;  // a point weighs on the nearest 1/8 of its axis
constexpr int kFromGood = 24;     // draws from the good, to try the best of them

}  // namespace

uint64_t TreeParzenSampler::choose() {
  const std::vector<Knowledge::Observed>& ranked = knowledge().ranked();
  if (knowledge().known() < kBeforeParts || ranked.empty()) return draw_unknown();
  const double share = std::ceil(kGood * static_cast<double>(knowledge().told().size()));
  const size_t size = std::min({static_cast<size_t>(share), kMostGood, ranked.size()});
  std::vector<uint64_t> good;
  std::vector<uint64_t> bad = knowledge().pending();
  for (size_t i = 0; i < ranked.size(); ++i) (i < size ? good : bad).push_back(ranked[i].point);
  for (const auto& [point, cost] : knowledge().told()) {
    if (!cost) bad.push_back(point);
  }
  const Densities of_good = densities(good);
  const Densities of_bad = densities(bad);
  std::optional<uint64_t> best;
  double best_ratio = 0;
  for (int i = 0; i < kFromGood; ++i) {
    const uint64_t point = draw(of_good);
    if (knowledge().is_known(point)) continue;
    double ratio = 1;
    for (size_t axis = 0; axis < of_good.size(); ++axis) {
      const size_t place = grid().place(point, axis);
      ratio *= of_good[axis][place] / of_bad[axis][place];
    }
    if (best && ratio <= best_ratio) continue;
    best = point;
    best_ratio = ratio;
  }
  return best ? *best : draw_unknown();
}

TreeParzenSampler::Densities TreeParzenSampler::densities(
    const std::vector<uint64_t>& points) const {
  Densities out;
  for (size_t axis = 0; axis < grid().axes().size(); ++axis) {
    const auto& [count, numbers] = grid().axes()[axis];
    std::vector<double> here(count);
    for (uint64_t point : points) here[grid().place(point, axis)] += 1;
    // The number of places to either side that a point's weight reaches, with its own place. The
    // weights form a triangle, because machines compute exp() in different ways.
    const size_t reach = numbers.empty() ? 1 : 1 + count / kAxisShare;
    std::vector<double> density(count, kPrior / static_cast<double>(count));
    for (size_t from = 0; from < count; ++from) {
      if (here[from] == 0) continue;
      const size_t first = from - std::min(from, reach - 1);
      const size_t last = std::min(from + reach - 1, count - 1);
      auto weight = [&](size_t place) {
        return static_cast<double>(reach - (place > from ? place - from : from - place));
      };
      double sum = 0;
      for (size_t place = first; place <= last; ++place) sum += weight(place);
      for (size_t place = first; place <= last; ++place)
        density[place] += here[from] * weight(place) / sum;
    }
    const double total = kPrior + static_cast<double>(points.size());
    for (double& one : density) one /= total;
    out.push_back(std::move(density));
  }
  return out;
}

uint64_t TreeParzenSampler::draw(const Densities& from) {
  uint64_t point = 0;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    double left = random().unit();
    size_t place = 0;
    while (place + 1 < from[axis].size() && left >= from[axis][place]) left -= from[axis][place++];
    point = grid().moved(point, axis, place);
  }
  return point;
}

}  // namespace evolve::search
