#include "engine/search/space/model_sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

namespace evolve::search {

namespace {

constexpr size_t kFirst = 4;         // told points before the forests are asked
constexpr size_t kFewestValid = 3;   // valid points before the forests are asked
constexpr double kRedraw = 0.3;      // chance that a first step moves a parameter
constexpr double kReach = 0.25;      // how far a first step moves at most, as a share of the values
constexpr int kSteps = 100;          // draws at most to find a point that is not known
constexpr int kTrees = 30;           // of each forest
constexpr size_t kDrawn = 1500;      // candidates drawn by chance
constexpr size_t kBest = 10;         // points whose neighbours are looked at
constexpr size_t kMostToEnds = 4;    // most parameters of the best point moved to their ends
constexpr double kMostEnds = 2000;   // most points at ends; if there are more, they are left out
constexpr size_t kRemembered = 200;  // candidates that the next choice looks at again
constexpr double kRefit = 1.05;      // forests are fitted again after this growth of told points
constexpr double kNoise = 0.02;      // share of a time that counts as noise
constexpr double kLeastChance = 1e-6;

// Returns how often two divides a whole number above 0.
float powers_of_two_in(double value) {
  int count = 0;
  for (auto left = static_cast<uint64_t>(value); left % 2 == 0; left /= 2) ++count;
  return static_cast<float>(count);
}

// Returns how far a normal variable is expected to fall below `best`. A value above `best` counts
// as 0.
double expected_improvement(double best, const Forest::Prediction& prediction) {
  const double deviation = std::sqrt(prediction.variance + kNoise * kNoise);
  const double z = (best - prediction.mean) / deviation;
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  return deviation * (z * below + density);
}

// Returns the number of points at which one to kMostToEnds of the parameters are at an end.
// `parameters`: the number of parameters.
double ends_of(size_t parameters) {
  double points = 0, chosen = 1;
  for (size_t moved = 0; moved < std::min(kMostToEnds, parameters); ++moved) {
    chosen *= 2.0 * static_cast<double>(parameters - moved) / static_cast<double>(moved + 1);
    points += chosen;
  }
  return points;
}

}  // namespace

ModelSampler::ModelSampler(Grid grid, uint64_t seed) : Sampler(std::move(grid), seed) {
  add_columns();
}

void ModelSampler::add_columns() {
  std::vector<size_t> sizes;  // axes whose values are sizes, fit for products
  for (size_t axis = 0; axis < grid().axes().size(); ++axis) {
    const auto& [count, values] = grid().axes()[axis];
    if (count < 2) continue;
    free_axes_.push_back(axis);
    if (!values.empty()) ordered_axes_.push_back(axis);
    std::vector<float> places(count);
    for (size_t i = 0; i < count; ++i) places[i] = static_cast<float>(i);
    columns_.push_back({{axis}, {places}});
    if (values.empty() || values.front() <= 0) continue;
    if (count > 2) sizes.push_back(axis);
    const bool is_whole = std::all_of(values.begin(), values.end(), [](double value) {
      return value == std::floor(value) && value < 0x1p53;
    });
    if (!is_whole) continue;
    std::vector<float> powers(count);
    std::transform(values.begin(), values.end(), powers.begin(), powers_of_two_in);
    // If the powers ascend with the places, as for 16, 32, 64, they add nothing to the places.
    if (std::adjacent_find(powers.begin(), powers.end(), std::greater_equal<>()) != powers.end())
      columns_.push_back({{axis}, {powers}});
  }
  auto logarithms = [&](size_t axis) {
    const std::vector<double>& values = grid().axes()[axis].values;
    std::vector<float> out(values.size());
    std::transform(values.begin(), values.end(), out.begin(),
                   [](double value) { return static_cast<float>(std::log2(value)); });
    return out;
  };
  for (size_t i = 0; i < sizes.size(); ++i) {
    for (size_t j = i + 1; j < sizes.size(); ++j)
      columns_.push_back({{sizes[i], sizes[j]}, {logarithms(sizes[i]), logarithms(sizes[j])}});
  }
}

void ModelSampler::append_row(uint64_t point, Matrix& matrix) const {
  for (const Column& column : columns_) {
    float sum = 0;
    for (size_t i = 0; i < column.axes.size(); ++i)
      sum += column.terms[i][grid().place(point, column.axes[i])];
    matrix.cells.push_back(sum);
  }
}

uint64_t ModelSampler::choose() {
  if (knowledge().told().size() < kFirst || knowledge().ranked().size() < kFewestValid)
    return first_point();
  if (static_cast<double>(knowledge().told().size()) >= static_cast<double>(fitted_) * kRefit)
    fit();
  if (knowledge().pending().empty()) return most_promising(candidates(), costs_);
  const Forest with_lies = fit_with_lies();
  return most_promising(candidates(), with_lies);
}

uint64_t ModelSampler::first_point() {
  if (knowledge().ranked().empty() && !knowledge().told().empty()) return draw_unknown();
  const bool is_middle = knowledge().ranked().empty();
  const uint64_t from = is_middle ? grid().middle() : knowledge().ranked().front().point;
  if (is_middle && !knowledge().is_known(from)) return from;
  for (int i = 0; i < kSteps; ++i) {
    const uint64_t point = step_from(from);
    if (!knowledge().is_known(point)) return point;
  }
  return draw_unknown();
}

uint64_t ModelSampler::step_from(uint64_t from) {
  uint64_t point = from;
  for (size_t axis : free_axes_) {
    if (random().unit() >= kRedraw) continue;
    const auto& [count, values] = grid().axes()[axis];
    // Values without an order have no distances, so the step may reach all of them.
    const double reach = values.empty() ? 1 : kReach;
    const auto most = std::max<size_t>(1, std::lround(reach * static_cast<double>(count)));
    const size_t place = grid().place(from, axis);
    const size_t low = place - std::min(place, most);
    const size_t high = std::min(place + most, count - 1);
    point = grid().moved(point, axis, low + random().below(high - low + 1));
  }
  return point;
}

ModelSampler::Sample ModelSampler::valid_ones() const {
  Sample out{{columns_.size(), {}}, {}};
  for (const auto& [point, cost] : knowledge().told()) {
    if (!cost) continue;
    append_row(point, out.rows);
    out.log_costs.push_back(std::log(*cost));
  }
  return out;
}

void ModelSampler::fit() {
  const Sample valid = valid_ones();
  Matrix all{columns_.size(), {}};
  std::vector<double> validity;
  for (const auto& [point, cost] : knowledge().told()) {
    append_row(point, all);
    validity.push_back(cost ? 1 : 0);
  }
  costs_ = Forest::fit(valid.rows, valid.log_costs, kTrees, random());
  validity_ = valid.log_costs.size() == validity.size()
                  ? Forest()
                  : Forest::fit(all, validity, kTrees, random());
  fitted_ = validity.size();
}

// Fits the forest of the costs, with the pending points at their expected costs.
Forest ModelSampler::fit_with_lies() {
  Sample sample = valid_ones();
  Matrix row{columns_.size(), {}};
  for (uint64_t point : knowledge().pending()) {
    row.cells.clear();
    append_row(point, row);
    append_row(point, sample.rows);
    sample.log_costs.push_back(costs_.at(row.cells).mean);
  }
  return Forest::fit(sample.rows, sample.log_costs, kTrees, random());
}

// Returns the unknown points that differ in one parameter from one of the best points.
std::vector<uint64_t> ModelSampler::beside_best() const {
  std::vector<uint64_t> out;
  for (size_t i = 0; i < std::min(kBest, knowledge().ranked().size()); ++i) {
    const uint64_t from = knowledge().ranked()[i].point;
    for (size_t axis : free_axes_) {
      for (size_t place = 0; place < grid().axes()[axis].count; ++place) {
        const uint64_t point = grid().moved(from, axis, place);
        if (!knowledge().is_known(point)) out.push_back(point);
      }
    }
  }
  return out;
}

void ModelSampler::add_ends(uint64_t from, size_t first, size_t most,
                            std::vector<uint64_t>& out) const {
  for (size_t i = first; most > 0 && i < ordered_axes_.size(); ++i) {
    const size_t axis = ordered_axes_[i];
    for (const size_t end : {size_t{0}, grid().axes()[axis].count - 1}) {
      if (grid().place(from, axis) == end) continue;
      const uint64_t point = grid().moved(from, axis, end);
      if (!knowledge().is_known(point)) out.push_back(point);
      add_ends(point, i + 1, most - 1, out);
    }
  }
}

// Returns the unknown points that are the best point with some parameters moved to an end of their
// values.
std::vector<uint64_t> ModelSampler::ends_of_best() const {
  std::vector<uint64_t> out;
  add_ends(knowledge().ranked().front().point, 0, kMostToEnds, out);
  return out;
}

std::vector<uint64_t> ModelSampler::candidates() {
  const uint64_t turn = random().below(ends_of(ordered_axes_.size()) > kMostEnds ? 2 : 3);
  std::vector<uint64_t> out = turn == 2 ? ends_of_best() : beside_best();
  if (turn > 0 && !out.empty()) return out;
  for (uint64_t point : promising_) {
    if (!knowledge().is_known(point)) out.push_back(point);
  }
  for (size_t i = 0; i < kDrawn; ++i) out.push_back(draw_unknown());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

uint64_t ModelSampler::most_promising(const std::vector<uint64_t>& candidates,
                                      const Forest& costs) {
  const double best = std::log(*knowledge().ranked().front().cost);
  Matrix row{columns_.size(), {}};
  std::vector<Scored> scored;
  for (uint64_t point : candidates) {
    row.cells.clear();
    append_row(point, row);
    double score = expected_improvement(best, costs.at(row.cells));
    if (!validity_.is_empty()) score *= std::max(validity_.at(row.cells).mean, kLeastChance);
    scored.push_back({score, point});
  }
  const size_t kept = std::min(kRemembered, scored.size());
  std::partial_sort(scored.begin(), scored.begin() + static_cast<std::ptrdiff_t>(kept),
                    scored.end(), [](const Scored& a, const Scored& b) {
                      return a.score != b.score ? a.score > b.score : a.point < b.point;
                    });
  promising_.clear();
  for (size_t i = 0; i < kept; ++i) promising_.push_back(scored[i].point);
  return promising_.front();
}

}  // namespace evolve::search
