#include "engine/search/space/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "engine/search/space/local_sampler.h"
#include "engine/search/space/random.h"
#include "engine/search/space/sampler.h"

namespace evolve::search {

namespace {

constexpr int kDraws = 200;          // random draws before the space is walked through
constexpr uint64_t kWalk = 1 << 20;  // points walked through at most
constexpr int kForbidden = 1000;     // forbidden points before a sampler is given up

class Sweep {
 public:
  explicit Sweep(const SweepRequest& request)
      : request_(request), space_(request.space), random_(request.random_seed, request.stream) {
    for (const Trial& trial : request.trials) used_.insert(trial.point);
    for (const Parent& parent : request.parents) used_.insert(parent.point);
  }

  Result<std::vector<SweepVariant>> propose() {
    TRY(make_sampler());
    std::vector<SweepVariant> out;
    for (const SweepPlace& place : request_.places) {
      TRY_ASSIGN(auto found, choose(place));
      if (found) {
        used_.insert(found->point);
        out.push_back(*std::move(found));
      } else {
        out.push_back(
            {.point = request_.parents[0].point,
             .note = fmt::format("nothing new is left: repeats {}", request_.parents[0].id),
             .is_new = false});
      }
    }
    return out;
  }

 private:
  using Found = std::optional<SweepVariant>;
  using FoundPoint = std::optional<Point>;

  // Makes the sampler. `local` needs none, because it walks from parents that may be outside of the
  // grid.
  Status make_sampler() {
    is_local_ = request_.sampler == "local";
    if (is_local_ || space_.parameters().empty()) return {};
    auto grid = space_.grid();
    if (!grid) return std::move(grid).error().within("parameters");
    TRY_ASSIGN(auto made, search::make_sampler(request_.sampler, *std::move(grid), random_.next(),
                                               std::max<size_t>(request_.places.size(), 1)));
    sampler_ = std::move(made);
    for (const Trial& trial : request_.trials) tell(trial.point, trial.cost);
    // Without trials, nothing has a cost yet. So all parents count as equally good, and the search
    // begins at them.
    if (!request_.trials.empty()) return {};
    for (const Parent& parent : request_.parents) tell(parent.point, 1);
    return {};
  }

  void tell(const Point& point, std::optional<double> cost) {
    if (auto index = space_.index_of(point)) sampler_->tell(*index, cost);
  }

  Result<Found> choose(const SweepPlace& place) {
    if (!place.explores) {
      TRY_ASSIGN(auto point, is_local_ ? draw_near_parent(place.parent) : draw_by_sampler());
      if (point) return Found(proposal(*point, place.parent, ""));
    }
    TRY_ASSIGN(auto point, draw_anywhere());
    if (!point) return Found();
    return Found(proposal(*point, place.parent, " (from the whole space)"));
  }

  [[nodiscard]] SweepVariant proposal(const Point& point, size_t wanted, const char* how) const {
    const size_t parent = is_local_ ? wanted : nearest_parent(point);
    return {.point = point,
            .parent = parent,
            .note = describe_change(request_.parents[parent].point, point) + how};
  }

  [[nodiscard]] size_t nearest_parent(const Point& point) const {
    auto differing = [&](const Parent& parent) {
      return std::count_if(point.begin(), point.end(), [&](const auto& one) {
        return parent.point.at(one.first) != one.second;
      });
    };
    auto nearest = std::min_element(
        request_.parents.begin(), request_.parents.end(),
        [&](const Parent& a, const Parent& b) { return differing(a) < differing(b); });
    return static_cast<size_t>(nearest - request_.parents.begin());
  }

  [[nodiscard]] Result<bool> is_free(const Point& point) const {
    if (used_.contains(point)) return false;
    return space_.allows(point);
  }

  Result<FoundPoint> draw_near_parent(size_t parent) {
    std::vector<std::vector<Step>> steps;
    for (const auto& [name, values] : space_.parameters())
      steps.push_back(steps_along(values, request_.parents[parent].point.at(name)));
    auto found = draw_near(
        steps, [&](const AxisValues& values) { return is_free(point_of(values)); }, random_);
    if (!found) return std::move(found).error();
    return *found ? FoundPoint(point_of(**found)) : std::nullopt;
  }

  [[nodiscard]] Point point_of(const AxisValues& values) const {
    Point out;
    for (size_t i = 0; i < values.size(); ++i) out[space_.parameters()[i].name] = values[i];
    return out;
  }

  // Returns the next free point that the sampler gives. If the sampler finds no free point, it is
  // dropped.
  Result<FoundPoint> draw_by_sampler() {
    for (int forbidden = 0; sampler_ && forbidden < kForbidden;) {
      auto index = sampler_->next();
      if (!index) break;
      Point point = space_.at(*index);
      if (used_.contains(point)) continue;
      TRY_ASSIGN(auto is_allowed, space_.allows(point));
      if (is_allowed) return FoundPoint(std::move(point));
      sampler_->tell(*index, std::nullopt);
      ++forbidden;
    }
    sampler_.reset();
    return FoundPoint();
  }

  // Returns any free point. It is drawn by chance, or else found by a walk from a random place.
  Result<FoundPoint> draw_anywhere() {
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
    return FoundPoint();
  }

  [[nodiscard]] Result<FoundPoint> free_at(uint64_t index) const {
    Point point = space_.at(index);
    TRY_ASSIGN(auto is_wanted, is_free(point));
    return is_wanted ? FoundPoint(std::move(point)) : std::nullopt;
  }

  const SweepRequest& request_;
  const Space& space_;
  Random random_;
  bool is_local_ = false;
  std::unique_ptr<Sampler> sampler_;  // null for `local`, without parameters, and when exhausted
  std::set<Point> used_;
};

}  // namespace

bool explores(size_t ordinal, double share) {
  const auto before = static_cast<double>(ordinal);
  return std::floor((before + 1) * share) > std::floor(before * share);
}

Result<std::vector<SweepVariant>> propose(const SweepRequest& request) {
  if (request.parents.empty()) return internal_error("the sweep has no parent");
  for (const Parent& parent : request.parents) {
    for (const Parameter& parameter : request.space.parameters()) {
      if (!parent.point.contains(parameter.name)) {
        return internal_error(fmt::format("parent '{}' lacks '{}'", parent.id, parameter.name));
      }
    }
  }
  for (const SweepPlace& place : request.places) {
    if (place.parent >= request.parents.size()) return internal_error("a place has no parent");
  }
  return Sweep(request).propose();
}

}  // namespace evolve::search
