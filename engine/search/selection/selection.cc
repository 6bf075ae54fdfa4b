#include "engine/search/selection/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "engine/search/selection/contest.h"
#include "engine/search/selection/cut.h"
#include "engine/search/selection/population.h"
#include "engine/search/selection/race.h"

namespace evolve::search {

namespace {

double resolution_of(std::optional<TimeKind> time_kind) {
  return time_kind == TimeKind::measured ? 0.01 : 0.03;
}

class Selector {
 public:
  explicit Selector(const SelectionRequest& request) : request_(request) {}

  Result<Selection> select() {
    out_.round = request_.round;
    out_.seed = request_.seed;
    out_.is_relative = !request_.seed.rejection;
    for (const Evaluated& variant : request_.variants) {
      if (variant.rejection) {
        out_.rejected.push_back(variant);
      } else if (!variant.ruled_out.empty()) {
        out_.ruled_out.push_back(variant);
      }
    }
    if (auto status = find_time_kind(); !status) return status.error();
    if (auto status = rank(); !status) return status.error();
    populate(request_, out_);
    note_model();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::vector<const Evaluated*> contenders() const {
    std::vector<const Evaluated*> out;
    std::set<VariantId> seen;
    auto add = [&](const Evaluated& variant) {
      const bool is_timed = !variant.rejection && variant.ruled_out.empty();
      if (is_timed && seen.insert(variant.id).second) out.push_back(&variant);
    };
    if (request_.before.empty()) add(request_.seed);
    for (const Survivor& survivor : request_.before) add(survivor.variant);
    for (const Evaluated& variant : request_.variants) add(variant);
    return out;
  }

  Status find_time_kind() {
    const Evaluated* first = nullptr;
    std::vector<const Evaluated*> timed = contenders();
    if (!request_.seed.rejection) timed.push_back(&request_.seed);
    for (const Evaluated* variant : timed) {
      if (!variant->time_kind) continue;
      if (first == nullptr) first = variant;
      if (variant->time_kind == first->time_kind) continue;
      return bad_input(fmt::format("{} and {} times are never ranked together: '{}' and '{}'",
                                   to_string(*first->time_kind), to_string(*variant->time_kind),
                                   first->id, variant->id));
    }
    if (first != nullptr) out_.time_kind = first->time_kind;
    out_.resolution = resolution_of(out_.time_kind);
    return {};
  }

  Status rank() {
    for (const Evaluated* variant : contenders()) {
      TRY_ASSIGN(auto score, score_of(*variant));
      out_.ranking.push_back({.variant = *variant,
                              .score = score,
                              .half_width = half_width_of(*variant),
                              .modelled = modelled_of(*variant)});
    }
    std::sort(out_.ranking.begin(), out_.ranking.end(), [](const Ranked& a, const Ranked& b) {
      return a.score != b.score ? a.score > b.score : a.variant.id < b.variant.id;
    });
    return {};
  }

  [[nodiscard]] Result<double> score_of(const Evaluated& variant) const {
    double sum = 0, weights = 0;
    for (const BenchCase& one : request_.cases) {
      auto time = variant.seconds.find(one.name);
      auto unit = request_.seed.seconds.find(one.name);
      const bool is_known = time != variant.seconds.end() && time->second > 0;
      if (!is_known ||
          (out_.is_relative && (unit == request_.seed.seconds.end() || unit->second <= 0))) {
        return internal_error(
            fmt::format("'{}' or the seed has no time for case '{}'", variant.id, one.name));
      }
      auto ratio = variant.ratios.find(one.name);
      // The seed was measured next to itself, so it counts by its times.
      const bool is_paired =
          out_.is_relative && ratio != variant.ratios.end() && variant.id != request_.seed.id;
      sum +=
          one.weight * (is_paired ? -std::log(ratio->second.value)
                                  : std::log((out_.is_relative ? unit->second : 1) / time->second));
      weights += one.weight;
    }
    if (weights <= 0) return internal_error("no bench case has a weight");
    return rounded(std::exp(sum / weights));
  }

  // Returns half the width of the interval of the score's logarithm. All variants are measured next
  // to the seed, so the seed's half width is 0.
  [[nodiscard]] double half_width_of(const Evaluated& variant) const {
    return variant.id == request_.seed.id ? 0
                                          : standing_of(variant.ratios, request_.cases).half_width;
  }

  // Returns the modelled ratio that goes with a measured time. Nullopt: not measured, or not
  // modelled.
  [[nodiscard]] std::optional<double> modelled_of(const Evaluated& variant) const {
    if (variant.ratios.empty()) return std::nullopt;
    auto ratio = modelled_ratio(variant.modelled, request_.seed.modelled, request_.cases);
    return ratio ? std::optional(rounded(std::exp(*ratio))) : std::nullopt;
  }

  // Adds this round's times to the model's error.
  void note_model() {
    ModelError& model = out_.model;
    model = request_.model;
    const auto before = static_cast<double>(model.compared);
    double sum = before * model.offset;
    double squares = before * (model.offset * model.offset + model.error * model.error);
    for (const Evaluated& variant : request_.variants) {
      if (variant.rejection) continue;
      model.ruled_out += variant.ruled_out.empty() ? 0 : 1;
      model.spot_checks += variant.is_spot_check ? 1 : 0;
      const auto modelled = modelled_of(variant);
      if (!modelled) continue;
      const double off = standing_of(variant.ratios, request_.cases).mean - std::log(*modelled);
      sum += off;
      squares += off * off;
      ++model.compared;
    }
    for (const Survivor& survivor : out_.survivors) {
      const bool is_new = survivor.variant.round == request_.round;
      model.wrong += is_new && survivor.variant.is_spot_check ? 1 : 0;
    }
    if (model.compared == 0) return;
    const auto count = static_cast<double>(model.compared);
    model.offset = rounded(sum / count);
    model.error = rounded(std::sqrt(std::max(0.0, squares / count - model.offset * model.offset)));
  }

  const SelectionRequest& request_;
  Selection out_;
};

}  // namespace

double rounded(double value) {
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

Result<Selection> select(const SelectionRequest& request) {
  return Selector(request).select();
}

}  // namespace evolve::search
