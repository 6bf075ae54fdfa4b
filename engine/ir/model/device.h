// Constants of accelerator cores, as the model knows them: one table, and the source of every
// number.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "engine/ir/readers/opcode.h"

namespace evolve::ir {

struct Device {
  std::string_view name;
  double clock_hz;              // cycles per second that fit measured times
  double hbm_bytes_per_second;  // one core's share
  double
      dma_latency_seconds;  // from the start of a transfer to its flag, without the bytes' own time
  double peak_flops;        // bf16, one core
  double vmem_bytes;
  int branch_delay_bundles;  // bundles after a branch that still run
  double error;              // relative, of modelled time: half the width of its interval
  int matmul_factor = 1;     // cycles of a matmul, as a multiple of its cycles on tpu7x
  int matrix_size = 256;     // rows and columns of a matrix unit
  std::array<int, kUnits> slots = {2, 2, 4, 1, 2,
                                   3, 2, 2, 1};  // instructions that a bundle has room for
};

// Returns the device of a target ("tpu7x"). Nullopt: the target has no model.
std::optional<Device> find_device(std::string_view target);

// Returns the names of the devices that have a model: "tpu7x, v6e, …".
std::string device_names();

}  // namespace evolve::ir
