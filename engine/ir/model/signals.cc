#include "engine/ir/model/signals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "engine/ir/model/lost_time.h"
#include "engine/ir/model/work.h"
#include "engine/ir/readers/dump_name.h"

namespace evolve::ir {

namespace {

using nlohmann::json;

// Counts over all modules, each as often as it ran.
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

json matrix_units(const Counts& counts, const Device& device) {
  auto units = static_cast<size_t>(device.slots[static_cast<size_t>(Unit::mxu)]);
  json out = json::object();
  uint64_t total = 0;
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  for (size_t unit = 0; unit < units; ++unit) {
    uint64_t times = counts.matmuls.at(unit);
    out[fmt::format("mxu{}", unit)] = times;
    total += times;
    least = std::min(least, times);
    most = std::max(most, times);
  }
  out["total"] = total;
  out["dual_ratio"] = most == 0 ? 0.0 : static_cast<double>(least) / static_cast<double>(most);
  return out;
}

bool is_double_buffered(const json& facts) {
  const json& windows = facts["vmem"]["windows"];
  return std::any_of(windows.begin(), windows.end(),
                     [](const json& window) { return window["buffers"].get<uint64_t>() > 1; });
}

// Returns the instructions issued, in percent of those that there was room for.
double utilisation(const json& facts, Unit unit, const Device& device) {
  return 100 * facts["utilisation"][unit_name(unit)].get<double>() /
         device.slots[static_cast<size_t>(unit)];
}

double share_of(const json& facts, Cause cause) {
  for (const json& one : facts["by_cause"]) {
    if (one["cause"] == cause_name(cause)) return one["share"];
  }
  return 0;
}

uint64_t executed(const json& facts, Unit unit) {
  uint64_t sum = 0;
  for (const auto& [name, times] : facts["opcodes"].items()) {
    if (decode_opcode(name).unit == unit) sum += times.get<uint64_t>();
  }
  return sum;
}

}  // namespace

json write_signals(const ProgramRun& run, const json& facts, const Device& device) {
  Counts counts;
  for (const KernelRun& kernel : run.kernels) counts.add(kernel, device);
  auto seconds = facts["seconds"].get<double>();
  double bytes =
      facts["dma"]["load_bytes"].get<double>() + facts["dma"]["store_bytes"].get<double>();
  uint64_t busy =
      facts["bundles"]["executed"].get<uint64_t>() - facts["bundles"]["empty"].get<uint64_t>();
  double waits = share_of(facts, Cause::dma_bandwidth) + share_of(facts, Cause::dma_latency) +
                 share_of(facts, Cause::drain);
  const json& vmem = facts["vmem"];
  return {{"vliw_bundle_count", counts.kernel_bundles},
          {"mxu_utilization", matrix_units(counts, device)},
          {"flops", counts.matmul_flops},
          {"hbm_bandwidth_bytes", bytes},
          {"arithmetic_intensity", bytes == 0 ? json() : json(counts.matmul_flops / bytes)},
          {"compute_efficiency_pct", 100 * counts.matmul_flops / seconds / device.peak_flops},
          {"hbm_bandwidth_utilization_pct", 100 * bytes / seconds / device.hbm_bytes_per_second},
          {"vmem_allocation", {{"vmem_bytes", vmem["allocated_bytes"]}}},
          {"vmem_utilization_pct", vmem["allocated_bytes"].is_null()
                                       ? json()
                                       : json(100 * vmem["allocated_bytes"].get<double>() /
                                              vmem["capacity_bytes"].get<double>())},
          {"bundle_density",
           {{"total_bundles", busy},
            {"avg_ops_per_bundle",
             busy == 0 ? 0.0 : static_cast<double>(counts.issued) / static_cast<double>(busy)},
            {"max_ops_per_bundle", counts.most_issued}}},
          {"dma_analysis",
           {{"dma_count",
             facts["dma"]["loads"].get<uint64_t>() + facts["dma"]["stores"].get<uint64_t>()},
            {"dma_sync_count", counts.waits},
            {"double_buffering", is_double_buffered(facts)}}},
          {"special_units",
           {{"xlane_ops", executed(facts, Unit::xlu)},
            {"eup_ops", executed(facts, Unit::eup)},
            {"nop_count", facts["bundles"]["empty"]}}},
          {"compute_ratio", 1 - waits},
          {"memory_transfer_ratio", waits},
          {"hw_utilization",
           {{"mxu_util_pct", 100 * share_of(facts, Cause::mxu)},
            {"scalar_alu_util_pct", utilisation(facts, Unit::scalar, device)},
            {"vector_alu_util_pct", utilisation(facts, Unit::valu, device)},
            {"vector_load_util_pct", utilisation(facts, Unit::load, device)},
            {"vector_store_util_pct", utilisation(facts, Unit::store, device)},
            {"vector_eup_util_pct", utilisation(facts, Unit::eup, device)},
            {"vector_fills", facts["spills"]["loads_executed"]},
            {"vector_spills", facts["spills"]["stores_executed"]}}}};
}

}  // namespace evolve::ir
