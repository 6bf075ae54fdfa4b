#include "engine/ir/signals.h"

#include <algorithm>
#include <array>

#include "engine/ir/model/lost_time.h"
#include "engine/ir/model/work.h"
#include "engine/ir/readers/dump_name.h"

namespace evolve::ir {

namespace {

// Counts over all modules. What a module executed counts as often as the module ran.
struct Counts {
  std::array<uint64_t, 4> matmuls{};  // by matrix unit
  double matmul_flops = 0;
  uint64_t issued = 0;
  uint64_t most_issued = 0;   // in one bundle
  uint64_t waits = 0;         // for DMAs
  size_t kernel_bundles = 0;  // static, without the top-level program

  void add(const KernelRun& kernel, const Device& device) {
    const Schedule& schedule = kernel.schedule;
    if (kernel.name != kTopLevel) kernel_bundles += schedule.bundles.size();
    for (size_t i = 0; i < schedule.opcodes.size(); ++i) {
      const Opcode& opcode = schedule.opcodes[i];
      uint64_t times = kernel.times * kernel.simulation.opcodes[i];
      issued += times;
      if (opcode.name.starts_with("dma.done")) waits += times;
      if (!opcode.is_matmul) continue;
      matmuls[opcode.mxu % matmuls.size()] += times;
      matmul_flops += static_cast<double>(times) * most_flops_of(opcode, device);
    }
    for (size_t i = 0; i < schedule.bundles.size(); ++i) {
      if (kernel.simulation.executed[i] > 0)
        most_issued = std::max<uint64_t>(most_issued, schedule.bundles[i].issues);
    }
  }
};

Signals::MatrixUnits matrix_units(const Counts& counts, const Device& device) {
  auto units = static_cast<size_t>(device.slots[static_cast<size_t>(Unit::mxu)]);
  Signals::MatrixUnits out;
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  for (size_t unit = 0; unit < units; ++unit) {
    uint64_t times = counts.matmuls.at(unit);
    out.matmuls.push_back(times);
    out.total += times;
    least = std::min(least, times);
    most = std::max(most, times);
  }
  out.dual_ratio = most == 0 ? 0.0 : static_cast<double>(least) / static_cast<double>(most);
  return out;
}

bool is_double_buffered(const Facts& facts) {
  const auto& windows = facts.vmem.windows;
  return std::any_of(windows.begin(), windows.end(),
                     [](const WindowFacts& window) { return window.buffers > 1; });
}

// Returns the instructions that a unit issued, in percent of the unit's issue slots.
double utilisation(const Facts& facts, Unit unit, const Device& device) {
  return 100 * facts.utilisation.at(unit_name(unit)) / device.slots[static_cast<size_t>(unit)];
}

double share_of(const Facts& facts, Cause cause) {
  return facts.by_cause.at(static_cast<size_t>(cause)).share;
}

uint64_t executed(const Facts& facts, Unit unit) {
  uint64_t sum = 0;
  for (const auto& [name, times] : facts.opcodes) {
    if (decode_opcode(name).unit == unit) sum += times;
  }
  return sum;
}

}  // namespace

Signals signals_of(const ProgramRun& run, const Facts& facts, const Device& device) {
  Counts counts;
  for (const KernelRun& kernel : run.kernels) counts.add(kernel, device);
  const double bytes = facts.dma.load_bytes + facts.dma.store_bytes;
  const uint64_t busy = facts.bundles.executed - facts.bundles.empty;
  const double waits = share_of(facts, Cause::dma_bandwidth) + share_of(facts, Cause::dma_latency) +
                       share_of(facts, Cause::drain);
  Signals out;
  out.vliw_bundle_count = counts.kernel_bundles;
  out.mxu_utilization = matrix_units(counts, device);
  out.flops = counts.matmul_flops;
  out.hbm_bandwidth_bytes = bytes;
  if (bytes != 0) out.arithmetic_intensity = counts.matmul_flops / bytes;
  out.compute_efficiency_pct = 100 * counts.matmul_flops / facts.seconds / device.peak_flops;
  out.hbm_bandwidth_utilization_pct = 100 * bytes / facts.seconds / device.hbm_bytes_per_second;
  out.vmem_allocation.vmem_bytes = facts.vmem.allocated_bytes;
  if (facts.vmem.allocated_bytes) {
    out.vmem_utilization_pct =
        100 * static_cast<double>(*facts.vmem.allocated_bytes) / facts.vmem.capacity_bytes;
  }
  out.bundle_density = {
      .total_bundles = busy,
      .avg_ops_per_bundle =
          busy == 0 ? 0.0 : static_cast<double>(counts.issued) / static_cast<double>(busy),
      .max_ops_per_bundle = counts.most_issued};
  out.dma_analysis = {.dma_count = facts.dma.loads + facts.dma.stores,
                      .dma_sync_count = counts.waits,
                      .double_buffering = is_double_buffered(facts)};
  out.special_units = {.xlane_ops = executed(facts, Unit::xlu),
                       .eup_ops = executed(facts, Unit::eup),
                       .nop_count = facts.bundles.empty};
  out.compute_ratio = 1 - waits;
  out.memory_transfer_ratio = waits;
  out.hw_utilization = {.mxu_util_pct = 100 * share_of(facts, Cause::mxu),
                        .scalar_alu_util_pct = utilisation(facts, Unit::scalar, device),
                        .vector_alu_util_pct = utilisation(facts, Unit::valu, device),
                        .vector_load_util_pct = utilisation(facts, Unit::load, device),
                        .vector_store_util_pct = utilisation(facts, Unit::store, device),
                        .vector_eup_util_pct = utilisation(facts, Unit::eup, device),
                        .vector_fills = facts.spills.loads_executed,
                        .vector_spills = facts.spills.stores_executed};
  return out;
}

}  // namespace evolve::ir
