#include "engine/search/selection/decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace evolve::search {

namespace {

using nlohmann::json;

constexpr size_t kFewestRuns = 5;

// Returns Student's t for a two-sided 95 % interval. From 21 degrees of freedom on, the result is
// an upper bound, at most 0.3 % too large.
double t_of(double degrees) {
  constexpr std::array<double, 20> kTable = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                                             2.306,  2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
                                             2.131,  2.120, 2.110, 2.101, 2.093, 2.086};
  const auto whole = static_cast<size_t>(std::max(1.0, std::floor(degrees)));
  return whole <= kTable.size() ? kTable[whole - 1] : 1.96 + 2.6 / static_cast<double>(whole);
}

// Returns the mean of the middle half of the values. It is robust against outliers, like the
// median, and more exact for the same number of values.
double midmean(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t cut = values.size() / 4;
  double sum = 0;
  for (size_t i = cut; i < values.size() - cut; ++i) sum += values[i];
  return sum / static_cast<double>(values.size() - 2 * cut);
}

double log_ratio(const Block& block) {
  return (std::log(block.candidate[0]) + std::log(block.candidate[1]) - std::log(block.anchor[0]) -
          std::log(block.anchor[1])) /
         2;
}

// The mean of the log ratios over the runs, and its uncertainty.
struct Estimate {
  double mean = 0;
  double variance = 0;  // of the mean
  double degrees = 0;
};

Estimate estimate(const Samples& samples) {
  std::vector<double> middles;
  middles.reserve(samples.runs.size());
  for (const auto& blocks : samples.runs) {
    std::vector<double> ratios;
    ratios.reserve(blocks.size());
    for (const Block& block : blocks) ratios.push_back(log_ratio(block));
    middles.push_back(midmean(std::move(ratios)));
  }
  Estimate out;
  const auto count = static_cast<double>(middles.size());
  for (double one : middles) out.mean += one / count;
  for (double one : middles) {
    out.variance += (one - out.mean) * (one - out.mean) / (count - 1) / count;
  }
  out.degrees = count - 1;
  return out;
}

// Returns why the samples allow no statistics; nullopt: they allow them.
std::optional<std::string> flaw(const Samples& samples, const DecisionRule& rule) {
  if (samples.runs.size() < kFewestRuns) {
    return fmt::format("{} runs, but at least {} are needed", samples.runs.size(), kFewestRuns);
  }
  for (const auto& blocks : samples.runs) {
    if (blocks.empty()) return "a run has no blocks";
    for (const Block& block : blocks) {
      for (double seconds :
           {block.anchor[0], block.anchor[1], block.candidate[0], block.candidate[1]}) {
        const bool is_possible = std::isfinite(seconds) && seconds > 0;
        if (!is_possible || seconds < rule.floor_seconds) {
          return fmt::format("a sample of {:.3g} s is impossible: the minimum is {:.3g} s", seconds,
                             rule.floor_seconds);
        }
      }
    }
  }
  return std::nullopt;
}

Decision not_comparable(std::string reason) {
  Decision out;
  out.reason = std::move(reason);
  return out;
}

Decision decision_of(const Estimate& estimate, const DecisionRule& rule) {
  const double half = t_of(estimate.degrees) * std::sqrt(estimate.variance);
  Decision out;
  out.ratio = {std::exp(estimate.mean), std::exp(estimate.mean - half),
               std::exp(estimate.mean + half)};
  out.comparison = Comparison::tie;
  if (out.ratio.high < 1 / (1 + rule.min_effect)) {
    out.comparison = Comparison::faster;
  } else if (out.ratio.low > 1 + rule.min_effect) {
    out.comparison = Comparison::slower;
  } else if (half > std::log1p(rule.most_half_width)) {
    out.comparison = Comparison::unstable;
    out.reason = fmt::format("only known to {:.1f} %", 100 * std::expm1(half));
  }
  return out;
}

// Reads the blocks of a run, which has a list of pairs for each program.
std::optional<std::vector<Block>> read_blocks(const json& run) {
  using Times = std::vector<std::array<double, 2>>;
  auto times = [&](const char* program) -> std::optional<Times> {
    auto it = run.is_object() ? run.find(program) : run.end();
    if (it == run.end() || !it->is_array()) return std::nullopt;
    Times out;
    for (const json& pair : *it) {
      const bool is_pair =
          pair.is_array() && pair.size() == 2 && pair[0].is_number() && pair[1].is_number();
      if (!is_pair) return std::nullopt;
      out.push_back({pair[0].get<double>(), pair[1].get<double>()});
    }
    return out;
  };
  const auto anchor = times("anchor"), candidate = times("candidate");
  if (!anchor || !candidate || anchor->size() != candidate->size()) return std::nullopt;
  std::vector<Block> out;
  for (size_t i = 0; i < anchor->size(); ++i) out.push_back({(*anchor)[i], (*candidate)[i]});
  return out;
}

}  // namespace

Result<Samples> read_samples(const json& from, const std::string& record) {
  auto bad = [&](const std::string& what) { return external(fmt::format("{}: {}", record, what)); };
  if (!from.is_object() || from.value("format", json()) != "evolve-samples-2") {
    return bad("the format is not evolve-samples-2");
  }
  Samples out;
  for (const auto& [key, text] : {std::pair("device", &out.device), {"protocol", &out.protocol}}) {
    auto it = from.find(key);
    if (it == from.end() || !it->is_string()) return bad(fmt::format("{} is missing", key));
    *text = it->get<std::string>();
  }
  auto runs = from.find("runs");
  if (runs == from.end() || !runs->is_array()) return bad("the runs are missing");
  for (const json& run : *runs) {
    auto blocks = read_blocks(run);
    if (!blocks) return bad("a block does not have two times of each program");
    out.runs.push_back(*std::move(blocks));
  }
  return out;
}

double Ratio::half_width() const {
  return std::log(high / low) / 2;
}

Result<Ratio> read_ratio(const json& from, const std::string& record) {
  Ratio out;
  for (const auto& [key, number] :
       {std::pair("ratio", &out.value), {"low", &out.low}, {"high", &out.high}}) {
    auto value = from.find(key);
    const bool is_number = value != from.end() && value->is_number();
    *number = is_number ? value->get<double>() : 0;
    if (!(*number > 0) || !std::isfinite(*number)) {
      return external(fmt::format("{}: no '{}' above 0", record, key));
    }
  }
  return out;
}

json ratio_record(const Ratio& ratio) {
  return {{"ratio", ratio.value}, {"low", ratio.low}, {"high", ratio.high}};
}

const char* comparison_name(Comparison comparison) {
  switch (comparison) {
    case Comparison::faster: return "faster";
    case Comparison::slower: return "slower";
    case Comparison::tie: return "tie";
    case Comparison::unstable: return "unstable";
    case Comparison::not_comparable: return "not comparable";
  }
  return "";
}

Decision decide(const Samples& samples, const DecisionRule& rule) {
  if (auto why = flaw(samples, rule)) return not_comparable(*why);
  return decision_of(estimate(samples), rule);
}

Decision compare(const Samples& earlier, const Samples& later, const DecisionRule& rule) {
  if (earlier.device != later.device) {
    return not_comparable(
        fmt::format("measured on '{}' before, and on '{}' now", earlier.device, later.device));
  }
  if (earlier.protocol != later.protocol) {
    return not_comparable(
        fmt::format("measured by '{}' before, and by '{}' now", earlier.protocol, later.protocol));
  }
  for (const Samples* samples : {&earlier, &later}) {
    if (auto why = flaw(*samples, rule)) return not_comparable(*why);
  }
  const Estimate a = estimate(earlier), b = estimate(later);
  Estimate difference;
  difference.mean = b.mean - a.mean;
  difference.variance = a.variance + b.variance;
  // The degrees of freedom by Welch and Satterthwaite.
  const double weight = a.variance * a.variance / a.degrees + b.variance * b.variance / b.degrees;
  difference.degrees =
      weight > 0 ? difference.variance * difference.variance / weight : a.degrees + b.degrees;
  return decision_of(difference, rule);
}

}  // namespace evolve::search
