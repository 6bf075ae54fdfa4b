#include "engine/search/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "engine/search/random.h"

namespace evolve::search {

namespace {

constexpr int kFarthest = 4;         // steps from a parent that still count as near
constexpr int kDraws = 200;          // random draws before the space is walked through
constexpr uint64_t kWalk = 1 << 20;  // points walked through at most

// A value that a parameter may take, and its distance from the parent's.
struct Step {
  int64_t value;
  int distance;
};

std::vector<Step> steps_from(int64_t value, const std::vector<int64_t>& values) {
  auto above = std::lower_bound(values.begin(), values.end(), value);
  const auto here = static_cast<int>(above - values.begin());
  const bool is_listed = above != values.end() && *above == value;
  std::vector<Step> out = {{value, 0}};
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    int distance = i < here ? here - i : i - here + (is_listed ? 0 : 1);
    if (distance > 0) out.push_back({values[static_cast<size_t>(i)], distance});
  }
  return out;
}

class Sweep {
 public:
  explicit Sweep(const SweepRequest& request)
      : request_(request),
        space_(request.space),
        random_(request.random_seed, static_cast<uint64_t>(request.round)),
        used_(request.tried.begin(), request.tried.end()) {
    for (const Parent& parent : request.parents) used_.insert(parent.point);
  }

  Result<std::vector<Proposal>> propose() {
    std::vector<Proposal> out;
    for (int i = 0; i < request_.count; ++i) {
      size_t parent = static_cast<size_t>(i) % request_.parents.size();
      auto found = choose(i, parent);
      if (!found) return std::move(found).error();
      if (*found) {
        used_.insert((*found)->point);
        out.push_back(**std::move(found));
      } else {
        out.push_back({request_.parents[0].point, 0,
                       fmt::format("nothing new is left: repeats {}", request_.parents[0].id),
                       false});
      }
    }
    return out;
  }

 private:
  using Found = std::optional<Proposal>;

  // Whether place `i` of the round explores: spread evenly, so that a share of 1/4 is every fourth
  // place.
  [[nodiscard]] bool explores(int i) const {
    return std::floor((i + 1) * request_.explore) > std::floor(i * request_.explore);
  }

  Result<Found> choose(int i, size_t parent) {
    if (!explores(i)) {
      for (int distance = 1; distance <= kFarthest; ++distance) {
        auto point = draw_near(request_.parents[parent].point, distance);
        if (!point) return std::move(point).error();
        if (*point) return Found(proposal(**point, parent, ""));
      }
    }
    auto point = draw_anywhere();
    if (!point) return std::move(point).error();
    if (!*point) return Found();
    return Found(proposal(**point, parent, " (from the whole space)"));
  }

  Proposal proposal(const Point& point, size_t parent, const char* how) {
    return {point, parent, describe_change(request_.parents[parent].point, point) + how, true};
  }

  Result<bool> is_free(const Point& point) {
    if (used_.contains(point)) return false;
    return space_.allows(point);
  }

  // One of the free points at exactly `distance` steps.
  Result<std::optional<Point>> draw_near(const Point& from, int distance) {
    std::vector<Point> ring;
    Point point = from;
    collect(from, 0, distance, point, ring);
    std::vector<Point> free;
    for (Point& candidate : ring) {
      auto is_wanted = is_free(candidate);
      if (!is_wanted) return std::move(is_wanted).error();
      if (*is_wanted) free.push_back(std::move(candidate));
    }
    if (free.empty()) return std::optional<Point>();
    return std::optional<Point>(free[random_.below(free.size())]);
  }

  // Appends the points that differ from `from` by `left` steps in the parameters from number
  // `index` on.
  void collect(const Point& from, size_t index, int left, Point& point, std::vector<Point>& out) {
    if (index == space_.parameters().size()) {
      if (left == 0) out.push_back(point);
      return;
    }
    const Parameter& parameter = space_.parameters()[index];
    const int64_t value = from.at(parameter.name);
    for (const Step& step : steps_from(value, parameter.values)) {
      if (step.distance > left) continue;
      point[parameter.name] = step.value;
      collect(from, index + 1, left - step.distance, point, out);
    }
    point[parameter.name] = value;
  }

  // Any free point: by chance, and where chance does not find one by walking on from a random
  // place.
  Result<std::optional<Point>> draw_anywhere() {
    const uint64_t size = space_.size();
    for (int i = 0; i < kDraws; ++i) {
      auto found = free_at(random_.below(size));
      if (!found || *found) return found;
    }
    const uint64_t start = random_.below(size);
    for (uint64_t i = 0; i < std::min(size, kWalk); ++i) {
      auto found = free_at((start + i) % size);
      if (!found || *found) return found;
    }
    return std::optional<Point>();
  }

  Result<std::optional<Point>> free_at(uint64_t index) {
    Point point = space_.at(index);
    auto is_wanted = is_free(point);
    if (!is_wanted) return std::move(is_wanted).error();
    return *is_wanted ? std::optional<Point>(std::move(point)) : std::nullopt;
  }

  const SweepRequest& request_;
  const Space& space_;
  Random random_;
  std::set<Point> used_;
};

}  // namespace

Result<std::vector<Proposal>> propose(const SweepRequest& request) {
  if (request.parents.empty()) return internal_error("a sweep without a parent");
  for (const Parent& parent : request.parents) {
    for (const Parameter& parameter : request.space.parameters()) {
      if (!parent.point.contains(parameter.name)) {
        return internal_error(fmt::format("parent '{}' lacks '{}'", parent.id, parameter.name));
      }
    }
  }
  return Sweep(request).propose();
}

}  // namespace evolve::search
