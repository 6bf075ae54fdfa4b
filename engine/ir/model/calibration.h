// The model's constants, fitted to measured times.
//
// What a program takes in cycles hangs on two numbers: a DMA's latency in cycles, and the bytes
// that HBM moves in one. Both are tried on a grid around the start's; the clock that goes with a
// pair is the median of modelled cycles by measured seconds. The constants with the least mean
// error win, those nearer to the start where two do about as well: what no observation shows stays
// about as it is.
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
  // Those of a group (a kernel's shape, with other tilings) are left out together when the error on
  // what was not seen is worked out.
  std::string group;
  std::string family;  // a kind of kernel, of which validation.h tells the error by itself
  // What the model gives for it on a device.
  std::function<Result<double>(const Device&)> cycles;
};

struct Calibration {
  Device device;            // with the constants found; its error is twice `error_unseen`, below 1
  double error_before = 0;  // mean of |modelled / measured - 1|, with the constants at the start
  double error = 0;         // with those found
  double error_unseen = 0;  // of each group with what is found on all others
  double rank_correlation = 0;   // Spearman's, of modelled and measured times
  std::vector<double> modelled;  // seconds, by observation
};

// Bad input: fewer than two groups, what is no time, what the model cannot follow.
Result<Calibration> calibrate(const Device& start, std::span<const Observation> observations);

// A device with the constants of a file of them, {"device": "tpu7x", "clock_hz": …,
// "dma_latency_seconds": …, "hbm_bytes_per_second": …, "error": …, …}: what else is in it says how
// they were found. Bad input: those of another device, or numbers that none can be.
Result<Device> with_constants(Device device, const nlohmann::json& constants);

}  // namespace evolve::ir
