// What the model knows of an accelerator core. One table; every number with its source.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "engine/ir/readers/opcode.h"

namespace evolve::ir {

struct Device {
  std::string_view name;
  double clock_hz;              // cycles a second that measured times fit
  double hbm_bytes_per_second;  // of one core's share
  double
      dma_latency_seconds;  // from the start of a transfer to its flag, beside the bytes' own time
  double peak_flops;        // bf16, one core
  double vmem_bytes;
  int branch_delay_bundles;  // bundles after a branch that still run
  double error;              // relative, of modelled time: half the width of its interval
  int matmul_factor = 1;     // a matmul takes so many times the cycles that it takes on tpu7x
  int matrix_size = 256;     // rows and columns of a matrix unit
  std::array<int, kUnits> slots = {2, 2, 4, 1, 2,
                                   3, 2, 2, 1};  // instructions a bundle has room for
};

// The device of a target ("tpu7x"); nullopt for one that has no model.
std::optional<Device> find_device(std::string_view target);

// "tpu7x, v6e, …": those that have one.
std::string device_names();

}  // namespace evolve::ir
