#include "engine/ir/model/device.h"

#include <array>

namespace evolve::ir {

namespace {

// tpu7x, one TensorCore of the two of a chip:
//   peak    published 2307 TFLOP/s bf16 per chip, so 1153.5 per core, which is 524,288 flop
//           per cycle at 2.20 GHz.
//   clock   1.75 GHz, with 1.0 us of DMA latency: fitted once, together, to 129 published times of
//           grouped matmuls. The median ratio modelled/measured is then 0.993, the mean absolute
//           error 4.0 %, the rank correlation 0.996. At the nominal 2.20 GHz all times come
//           out 21 % too short.
//   error   twice that mean absolute error.
//   hbm     published 7.38 TB/s per chip, half of it per core.
//   vmem    64 MiB (JAX's TpuInfo).
//   delay   six bundles run after a taken branch (seen in the schedules).
//   slots   the first lines of libtpu's static-per-bundle-utilization; for DMAs, one slot was seen.
//
// The other devices, one TensorCore each, have not been compared with measured times:
//   peak, hbm, vmem   JAX's TpuInfo of one core.
//   clock   nominal: the clock at which their matrix units give that peak. v6e's two units
//           of 256x256 take two rows of bf16 per cycle, as tpu7x's do; v5p's and v5e's four
//           of 128x128 take one (which is `matmul_factor`).
//   latency as for tpu7x.
//   error   about one and a half times 21 %, the error of tpu7x's nominal clock.
//   delay   four bundles (seen in the schedules).
constexpr double kMiB = 1024.0 * 1024;
constexpr std::array<int, kUnits> kSlots = {2, 2, 4, 1, 2, 3, 2, 2, 1};
constexpr std::array<int, kUnits> kSlotsOfV5 = {4, 3, 4, 1, 2, 3, 1, 2, 1};
constexpr std::array<Device, 4> kDevices = {{
    {"tpu7x", 1.75e9, 3.69e12, 1.0e-6, 1153.5e12, 64 * kMiB, 6, 0.08, 1, 256, kSlots},
    {"v6e", 1.75e9, 1.64e12, 1.0e-6, 920e12, 128 * kMiB, 4, 0.30, 1, 256, kSlots},
    {"v5p", 1.75e9, 1.23e12, 1.0e-6, 229.5e12, 64 * kMiB, 4, 0.30, 2, 128, kSlotsOfV5},
    {"v5e", 1.5e9, 0.82e12, 1.0e-6, 197e12, 128 * kMiB, 4, 0.30, 2, 128, kSlotsOfV5},
}};

}  // namespace

std::optional<Device> find_device(std::string_view target) {
  for (const Device& device : kDevices) {
    if (device.name == target) return device;
  }
  return std::nullopt;
}

std::string device_names() {
  std::string out;
  for (const Device& device : kDevices) {
    if (!out.empty()) out += ", ";
    out += device.name;
  }
  return out;
}

}  // namespace evolve::ir
