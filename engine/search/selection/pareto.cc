// The policy 'pareto': the variants that no other variant beats.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/search/selection/policies.h"

namespace evolve::search {

namespace {

class Pareto {
 public:
  explicit Pareto(Survival& survival)
      : survival_(survival),
        request_(survival.request()),
        rule_(survival.rule()),
        out_(survival.selection()) {}

  void run() {
    // The candidates are in the order of their scores. So a later candidate could beat an earlier
    // one only if its losses count as ties. This case is ignored.
    std::vector<Ranked*> front;
    for (Ranked* one : survival_.candidates()) {
      if (std::none_of(front.begin(), front.end(),
                       [&](const Ranked* other) { return beats(other->variant, one->variant); }))
        front.push_back(one);
    }
    std::vector<Survivor> all = survival_.best_of(front, static_cast<int>(front.size()));
    auto take = [&](size_t number, const std::string& why) {
      all[number].reason = why + all[number].reason;
      out_.survivors.push_back(std::move(all[number]));
      all.erase(all.begin() + static_cast<long>(number));
    };
    if (!all.empty()) take(0, "");
    for (const BenchCase& one : request_.cases) {
      if (all.empty()) break;
      size_t best = 0;
      for (size_t i = 1; i < all.size(); ++i) {
        if (order_in(one.name, all[i].variant, all[best].variant) > 0) best = i;
      }
      const bool is_better = order_in(one.name, all[best].variant, out_.survivors[0].variant) > 0;
      if (is_better) take(best, fmt::format("fastest in {}: ", one.name));
    }
    while (!all.empty()) take(0, "on the front: ");
    if (out_.survivors.size() > static_cast<size_t>(rule_.top_k))
      out_.survivors.resize(static_cast<size_t>(rule_.top_k));
  }

 private:
  // Returns a variant's time in a case, divided by the seed's, and the half width of its interval,
  // both as logarithms.
  [[nodiscard]] std::pair<double, double> standing(const Evaluated& variant,
                                                   const std::string& name) const {
    if (auto ratio = variant.ratios.find(name); ratio != variant.ratios.end())
      return {std::log(ratio->second.value), ratio->second.half_width()};
    const double unit = out_.is_relative ? request_.seed.seconds.at(name) : 1;
    return {std::log(variant.seconds.at(name) / unit), 0};
  }

  // Returns 1 if `a` is faster than `b` in the case by more than a tie, -1 if `a` is slower, and 0
  // if they tie.
  [[nodiscard]] int order_in(const std::string& name, const Evaluated& a,
                             const Evaluated& b) const {
    const auto [mean_a, half_a] = standing(a, name);
    const auto [mean_b, half_b] = standing(b, name);
    const double width =
        rule_.by_point ? 0 : std::max(std::log1p(out_.resolution), std::hypot(half_a, half_b));
    if (mean_a < mean_b - width) return 1;
    return mean_a > mean_b + width ? -1 : 0;
  }

  [[nodiscard]] bool beats(const Evaluated& a, const Evaluated& b) const {
    bool is_faster = false;
    for (const BenchCase& one : request_.cases) {
      const int order = order_in(one.name, a, b);
      if (order < 0) return false;
      is_faster = is_faster || order > 0;
    }
    return is_faster;
  }

  Survival& survival_;
  const SelectionRequest& request_;
  const SelectionRule& rule_;
  Selection& out_;
};

}  // namespace

void keep_front(Survival& survival) {
  Pareto(survival).run();
}

}  // namespace evolve::search
