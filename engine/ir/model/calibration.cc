#include "engine/ir/model/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "engine/ir/model/statistics.h"

namespace evolve::ir {

namespace {

// The steps of the grid. One is a factor of 2^(1/4) for the latency and 2^(1/8) for the bandwidth.
constexpr int kLatencySteps = 8;  // to each side
constexpr int kBandwidthSteps = 4;
constexpr double kLatencyStep = 0.25;
constexpr double kBandwidthStep = 0.125;
// Constants must lower the error by this share for each step that they are farther from the start.
// Errors below kLeastError count as nearly equal.
constexpr double kLeastGain = 0.01;
constexpr double kLeastError = 1e-4;
constexpr double kLeastSeconds = 1e-9;
constexpr double kMostSeconds = 1e6;
constexpr double kMostDeviceError = 0.99;  // the interval must not reach 0

// A latency in cycles with a bandwidth in bytes per cycle, and the cycles that the model gives for
// each observation. `device` has the two as seconds and bytes per second, at its own clock.
struct Pair {
  Device device;
  std::vector<double> cycles;
};

// Returns a pair's device with another clock, but the same latency in cycles and bytes per cycle.
Device at_clock(const Pair& pair, double clock) {
  Device out = pair.device;
  out.dma_latency_seconds *= out.clock_hz / clock;
  out.hbm_bytes_per_second *= clock / out.clock_hz;
  out.clock_hz = clock;
  return out;
}

double steps_between(const Device& a, const Device& b) {
  return std::fabs(std::log2(a.dma_latency_seconds / b.dma_latency_seconds)) / kLatencyStep +
         std::fabs(std::log2(a.hbm_bytes_per_second / b.hbm_bytes_per_second)) / kBandwidthStep;
}

using Chosen = std::vector<size_t>;  // observations

double clock_of(const Pair& pair, std::span<const Observation> observations, const Chosen& chosen) {
  std::vector<double> clocks;
  clocks.reserve(chosen.size());
  for (size_t i : chosen) clocks.push_back(pair.cycles[i] / observations[i].seconds);
  return median(std::move(clocks));
}

double error_of(const Pair& pair, double clock, std::span<const Observation> observations,
                const Chosen& chosen) {
  double sum = 0;
  for (size_t i : chosen) sum += std::fabs(pair.cycles[i] / clock / observations[i].seconds - 1);
  return sum / static_cast<double>(chosen.size());
}

struct Fit {
  const Pair* pair = nullptr;
  double clock = 0;
  double error = 0;
};

Fit best_fit(const Device& start, const std::vector<Pair>& pairs,
             std::span<const Observation> observations, const Chosen& chosen) {
  Fit best;
  double least = INFINITY;
  for (const Pair& pair : pairs) {
    double clock = clock_of(pair, observations, chosen);
    double error = error_of(pair, clock, observations, chosen);
    double weighed =
        (error + kLeastError) * (1 + kLeastGain * steps_between(at_clock(pair, clock), start));
    if (weighed >= least) continue;
    least = weighed;
    best = {&pair, clock, error};
  }
  return best;
}

Result<std::vector<Pair>> grid_of(const Device& start, std::span<const Observation> observations) {
  std::vector<Pair> out;
  for (int i = -kLatencySteps; i <= kLatencySteps; ++i) {
    for (int j = -kBandwidthSteps; j <= kBandwidthSteps; ++j) {
      Pair pair{start, {}};
      pair.device.dma_latency_seconds *= std::exp2(i * kLatencyStep);
      pair.device.hbm_bytes_per_second *= std::exp2(j * kBandwidthStep);
      for (const Observation& one : observations) {
        TRY_ASSIGN(auto cycles, one.cycles(pair.device));
        if (!(cycles > 0) || !std::isfinite(cycles))
          return bad_input(fmt::format("no part of '{}' runs in the model", one.group));
        pair.cycles.push_back(cycles);
      }
      out.push_back(std::move(pair));
    }
  }
  return out;
}

}  // namespace

Result<Calibration> calibrate(const Device& start, std::span<const Observation> observations) {
  std::set<std::string> groups;
  for (const Observation& one : observations) {
    if (!(one.seconds >= kLeastSeconds && one.seconds <= kMostSeconds))
      return bad_input(fmt::format("{} s is not a measured time", one.seconds));
    groups.insert(one.group);
  }
  if (groups.size() < 2)
    return bad_input(
        "measured times of at least two groups are needed: one group tests what the others fit");
  TRY_ASSIGN(auto pairs, grid_of(start, observations));
  Chosen all(observations.size());
  std::iota(all.begin(), all.end(), 0);

  Calibration out{};
  const Pair& middle = pairs[pairs.size() / 2];
  out.error_before = error_of(middle, start.clock_hz, observations, all);
  for (const std::string& group : groups) {
    Chosen seen;
    Chosen unseen;
    for (size_t i : all) (observations[i].group == group ? unseen : seen).push_back(i);
    Fit fit = best_fit(start, pairs, observations, seen);
    out.error_unseen +=
        error_of(*fit.pair, fit.clock, observations, unseen) * static_cast<double>(unseen.size());
  }
  out.error_unseen /= static_cast<double>(all.size());
  Fit fit = best_fit(start, pairs, observations, all);
  out.error = fit.error;
  out.device = at_clock(*fit.pair, fit.clock);
  out.device.error = std::min(2 * out.error_unseen, kMostDeviceError);
  std::vector<double> measured;
  for (size_t i : all) {
    out.modelled.push_back(fit.pair->cycles[i] / fit.clock);
    measured.push_back(observations[i].seconds);
  }
  out.rank_correlation = rank_correlation(out.modelled, measured);
  return out;
}

Result<Device> with_constants(Device device, const nlohmann::json& constants) {
  using nlohmann::json;
  auto of = constants.is_object() ? constants.value("device", json()) : json();
  if (of != std::string(device.name))
    return bad_input(fmt::format("no constants for {}", device.name), "",
                     "evolve model calibrate writes a file of constants");
  for (auto [key, value, least, most] :
       {std::tuple("clock_hz", &device.clock_hz, 1e6, 1e12),
        std::tuple("dma_latency_seconds", &device.dma_latency_seconds, 1e-12, 1.0),
        std::tuple("hbm_bytes_per_second", &device.hbm_bytes_per_second, 1e6, 1e18),
        std::tuple("error", &device.error, 0.0, 0.99)}) {
    json found = constants.value(key, json());
    if (!found.is_number() || found < least || found > most)
      return bad_input(fmt::format("'{}': expected a number from {:g} to {:g}", key, least, most));
    *value = found.get<double>();
  }
  return device;
}

}  // namespace evolve::ir
