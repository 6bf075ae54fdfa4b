#include "engine/ir/device.h"

#include <array>

namespace evolve::ir {

namespace {

// tpu7x, one TensorCore of two a chip:
//   peak    published 2307 TFLOP/s bf16 a chip, so 1153.5 a core, which is 524,288 flop a cycle
//   at 2.20 GHz. clock   1.75 GHz, and 1.0 us of DMA latency: fitted once, for all, to 129
//   published times of grouped
//           matmuls; the median ratio modelled/measured is then 0.993, the mean absolute error 4.0
//           %, the rank correlation 0.996. At the nominal 2.20 GHz all times come out 21 % too
//           short.
//   error   twice that mean absolute error.
//   hbm     published 7.38 TB/s a chip, half of it a core.
//   vmem    64 MiB (JAX's TpuInfo).
//   delay   six bundles run after a taken branch (seen in the schedules).
constexpr std::array<Device, 1> kDevices = {{
    {"tpu7x", 1.75e9, 3.69e12, 1.0e-6, 1153.5e12, 64.0 * 1024 * 1024, 6, 0.08},
}};

}  // namespace

std::optional<Device> find_device(std::string_view target) {
  for (const Device& device : kDevices) {
    if (device.name == target) return device;
  }
  return std::nullopt;
}

}  // namespace evolve::ir
