// The fit of the model's constants to measured times.
//
// A program's time in cycles depends on two numbers: a DMA's latency in cycles, and the bytes that
// HBM moves in a cycle. Both are tried on a grid around their values at the start. The clock of a
// pair of values is the median of modelled cycles divided by measured seconds. The pair with the
// least mean error wins. Of two pairs that do about equally well, the pair nearer to the start
// wins. So a constant hardly changes if no observation depends on it.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/ir/model/device.h"

namespace evolve::ir {

struct Observation {
  double seconds = 0;  // measured
  // Observations of one group (a kernel's shape, with other tilings) are left out together when the
  // error on unseen observations is computed.
  std::string group;
  std::string family;  // a kind of kernel; validation.h reports the error of each
  // Returns the cycles that the model gives for this observation on a device.
  std::function<Result<double>(const Device&)> cycles;
};

struct Calibration {
  Device device;            // with the constants found; its error is twice `error_unseen`, below 1
  double error_before = 0;  // mean of |modelled / measured - 1|, with the constants at the start
  double error = 0;         // the same with the constants found
  double error_unseen = 0;  // the same; a group has the constants found on all others
  double rank_correlation = 0;   // Spearman's, of modelled and measured times
  std::vector<double> modelled;  // seconds, by observation
};

// Fits the constants. Bad input: fewer than two groups, a number that cannot be a measured time, or
// a program of which no part runs. An error of `cycles` is passed on.
Result<Calibration> calibrate(const Device& start, std::span<const Observation> observations);

// Returns a device with the constants of a file: {"device": "tpu7x", "clock_hz": …,
// "dma_latency_seconds": …, "hbm_bytes_per_second": …, "error": …, …}. Other keys say how the
// constants were found. Bad input: constants of another device, or numbers that no device can have.
Result<Device> with_constants(Device device, const nlohmann::json& constants);

}  // namespace evolve::ir
