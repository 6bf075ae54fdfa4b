#include "engine/search/space/local_sampler.h"

#include <algorithm>
#include <numeric>

namespace evolve::search {

namespace {

constexpr int kFarthest = 4;    // steps that still count as near
constexpr size_t kParents = 3;  // points that are walked from in turn

// Calls `visit` with each point that is exactly `left` steps away in the axes from number `axis`
// on. `values` has the values of the axes before that.
void visit_ring(const std::vector<std::vector<Step>>& steps, size_t axis, int left,
                AxisValues& values, const std::function<void(const AxisValues&)>& visit) {
  if (axis == steps.size()) {
    if (left == 0) visit(values);
    return;
  }
  for (const Step& step : steps[axis]) {
    if (step.distance > left) continue;
    values[axis] = step.value;
    visit_ring(steps, axis + 1, left - step.distance, values, visit);
  }
}

// Does the same as steps_along() for values without an order.
std::vector<Step> steps_across(size_t count, int64_t from) {
  std::vector<Step> out = {{from, 0}};
  for (int64_t value = 0; value < static_cast<int64_t>(count); ++value) {
    if (value != from) out.push_back({value, 1});
  }
  return out;
}

}  // namespace

std::vector<Step> steps_along(const std::vector<int64_t>& values, int64_t from) {
  auto above = std::lower_bound(values.begin(), values.end(), from);
  const auto here = static_cast<int>(above - values.begin());
  const bool is_listed = above != values.end() && *above == from;
  std::vector<Step> out = {{from, 0}};
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    const int distance = i < here ? here - i : i - here + (is_listed ? 0 : 1);
    if (distance > 0 && distance <= kFarthest)
      out.push_back({values[static_cast<size_t>(i)], distance});
  }
  return out;
}

Result<std::optional<AxisValues>> draw_near(
    const std::vector<std::vector<Step>>& steps,
    const std::function<Result<bool>(const AxisValues&)>& is_free, Random& random) {
  for (int distance = 1; distance <= kFarthest; ++distance) {
    std::vector<AxisValues> free;
    std::optional<Error> error;
    AxisValues values(steps.size());
    visit_ring(steps, 0, distance, values, [&](const AxisValues& point) {
      if (error) return;
      auto is_wanted = is_free(point);
      if (!is_wanted) {
        error = std::move(is_wanted).error();
      } else if (*is_wanted) {
        free.push_back(point);
      }
    });
    if (error) return *std::move(error);
    if (!free.empty()) return std::optional<AxisValues>(free[random.below(free.size())]);
  }
  return std::optional<AxisValues>();
}

uint64_t LocalSampler::choose() {
  const std::vector<Knowledge::Observed>& ranked = knowledge().ranked();
  if (!ranked.empty()) {
    const size_t parents = std::min(kParents, ranked.size());
    for (size_t i = 0; i < parents; ++i) {
      if (auto point = near(ranked[turn_++ % parents].point)) return *point;
    }
  } else if (knowledge().told().empty()) {
    const uint64_t middle = grid().middle();
    if (!knowledge().is_known(middle)) return middle;
    if (auto point = near(middle)) return *point;
  }
  return draw_unknown();
}

std::optional<uint64_t> LocalSampler::near(uint64_t from) {
  std::vector<std::vector<Step>> steps;
  for (size_t axis = 0; axis < grid().axes().size(); ++axis) {
    const auto& [count, numbers] = grid().axes()[axis];
    const auto place = static_cast<int64_t>(grid().place(from, axis));
    std::vector<int64_t> places(count);
    std::iota(places.begin(), places.end(), 0);
    steps.push_back(numbers.empty() ? steps_across(count, place) : steps_along(places, place));
  }
  auto point_at = [&](const AxisValues& places) {
    uint64_t point = from;
    for (size_t axis = 0; axis < places.size(); ++axis)
      point = grid().moved(point, axis, static_cast<size_t>(places[axis]));
    return point;
  };
  auto is_free = [&](const AxisValues& places) {
    return Result<bool>(!knowledge().is_known(point_at(places)));
  };
  auto found = draw_near(steps, is_free, random());
  if (!found || !*found) return std::nullopt;  // is_free gives no error
  return point_at(**found);
}

}  // namespace evolve::search
