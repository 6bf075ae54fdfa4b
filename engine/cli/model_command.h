// `evolve model`: the constants of the model of a TPU, and how far it is to be believed.
#pragma once

#include <string>

#include "engine/core/result.h"
#include "engine/ir/device.h"

namespace evolve::cli {

struct ModelCommand {
  std::string rows;  // a file of measured times
  std::string device = "tpu7x";
  std::string constants;  // a file of them; empty: the device's own
  std::string out;        // empty: DEVICE-libtpu-VERSION.json, or DEVICE.json
};

// Fits the constants to measured times, prints how well they do, and writes a file of constants.
//
// Measured times, JSON:  [{"dumps": PATH, "seconds": 1.2e-4, "operands": FILE.json, "kernel":
// "gmm",
//                          "group": "4096x512", "family": "gmm", "libtpu": "0.0.42.1"}, …]
// `dumps` and `seconds` are needed. Paths are from the file's folder; the time is that of the
// program, or of the runs of `kernel` alone; a group (each row its own, where there is none) is
// left out as one when the error on unseen times is worked out. A family is a kind of kernel.
//
// The constants are those of engine/ir/calibration.h, with "libtpu": "0.0.42.1" and how they were
// found.
Status run_model_calibrate(const ModelCommand& command, bool json);

// Holds the model's times against such a file: how many rows are modelled, the error after one
// common scale, whether pairs are in their order, by how much they differ, and the error of each
// family.
Status run_model_validate(const ModelCommand& command, bool json);

// The device of a name, with the constants of such a file; of an empty path its own.
Result<ir::Device> read_device(const std::string& name, const std::string& constants);

}  // namespace evolve::cli
