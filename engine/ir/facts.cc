#include "engine/ir/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace evolve::ir {

namespace {

using nlohmann::json;

// Sums over all kernels of a program.
struct Totals {
  double cycles = 0, stall_cycles = 0, load_bytes = 0, store_bytes = 0;
  uint64_t bundles = 0, empty_bundles = 0, loads = 0, stores = 0, matmuls = 0, steps = 0,
           spills = 0, fills = 0;
  std::array<uint64_t, kUnits> issued{};
  size_t static_bundles = 0;
};

Totals totals_of(const ProgramRun& run) {
  Totals sum;
  for (const KernelRun& kernel : run.kernels) {
    const Simulation& one = kernel.simulation;
    auto times = static_cast<double>(kernel.times);
    sum.cycles += times * one.cycles;
    sum.stall_cycles += times * one.stall_cycles;
    sum.load_bytes += times * one.load_bytes;
    sum.store_bytes += times * one.store_bytes;
    sum.bundles += kernel.times * one.bundles;
    sum.empty_bundles += kernel.times * one.empty_bundles;
    sum.loads += kernel.times * one.loads;
    sum.stores += kernel.times * one.stores;
    sum.matmuls += kernel.times * one.matmuls;
    sum.steps += kernel.times * one.steps;
    sum.spills += kernel.times * one.spills;
    sum.fills += kernel.times * one.fills;
    sum.static_bundles += kernel.schedule.bundles.size();
    for (size_t unit = 0; unit < kUnits; ++unit)
      sum.issued[unit] += kernel.times * one.issued[unit];
  }
  return sum;
}

// The data that libtpu's VMEM report carries for its own page: "const DATA ={…};".
json vmem_report(const Dumps& dumps) {
  auto file = dumps.find("TLP/vmem_report.html");
  if (file == dumps.end()) return nullptr;
  constexpr std::string_view kStart = "const DATA =";
  size_t start = file->second.find(kStart);
  if (start == std::string::npos) return nullptr;
  start += kStart.size();
  size_t end = file->second.find("};", start);
  if (end == std::string::npos) return nullptr;
  json data = json::parse(file->second.substr(start, end + 1 - start), nullptr, false);
  return data.is_object() ? data : json(nullptr);
}

// Bytes of VMEM that the largest kernel allocates, and of those for spilled registers.
json vmem_facts(const Dumps& dumps, const Device& device) {
  json report = vmem_report(dumps);
  double most = 0;
  double spilled = 0;
  if (report.is_object() && report.contains("hlo_breakdowns")) {
    for (const auto& [name, kernel] : report["hlo_breakdowns"].items()) {
      most = std::max(most, kernel.value("total_size", 0.0));
      double of_kernel = 0;
      for (const json& block : kernel.value("blocks", json::array())) {
        for (const json& allocation : block.value("allocations", json::array())) {
          if (allocation.value("tag", "") == "SPILL") of_kernel += allocation.value("size", 0.0);
        }
      }
      spilled = std::max(spilled, of_kernel);
    }
  }
  return {
      {"allocated_bytes", most}, {"spilled_bytes", spilled}, {"capacity_bytes", device.vmem_bytes}};
}

struct Bottleneck {
  std::string name;
  std::string evidence;
};

// What most of the time goes into. The rules, in order: HBM, when its queue is busy nearly always;
// waiting for DMAs that come too late; the matrix unit, when most of its peak is reached; else the
// unit with most issues; latency, where empty bundles prevail.
Bottleneck bottleneck_of(const Totals& sum, const Cost& cost, const Device& device) {
  double seconds = sum.cycles / device.clock_hz;
  double queue = (sum.load_bytes + sum.store_bytes) / device.hbm_bytes_per_second / seconds;
  double stall = sum.stall_cycles / sum.cycles;
  double empty = static_cast<double>(sum.empty_bundles) / sum.cycles;
  // The peak at the clock that the model runs at: 2.2 GHz is nominal.
  double peak = cost.flops / (device.peak_flops * device.clock_hz / 2.2e9) / seconds;
  auto percent = [](double share) { return fmt::format("{:.0f} %", 100 * share); };
  if (queue > 0.85) return {"hbm", percent(queue) + " of the time the DMA queue moves bytes"};
  if (stall > 0.2) return {"dma_wait", percent(stall) + " of the time waits for DMAs"};
  if (peak > 0.6) return {"mxu", percent(peak) + " of the matrix units' peak is reached"};
  size_t busiest = 0;
  for (size_t unit = 0; unit < kUnits; ++unit) {
    if (unit != static_cast<size_t>(Unit::scalar) && sum.issued[unit] > sum.issued[busiest])
      busiest = unit;
  }
  if (empty > 0.3) return {"latency", percent(empty) + " of the bundles are empty"};
  return {unit_name(static_cast<Unit>(busiest)),
          fmt::format("{:.2f} instructions a cycle",
                      static_cast<double>(sum.issued[busiest]) / sum.cycles)};
}

json utilisation_of(const Totals& sum) {
  json out = json::object();
  for (size_t unit = 0; unit < kUnits; ++unit) {
    out[unit_name(static_cast<Unit>(unit))] = static_cast<double>(sum.issued[unit]) / sum.cycles;
  }
  return out;
}

json roofline_of(const Totals& sum, const Cost& cost, const Device& device) {
  double seconds = sum.cycles / device.clock_hz;
  double compute = cost.flops / device.peak_flops;
  double memory = cost.bytes / device.hbm_bytes_per_second;
  return {{"compute_seconds", compute},
          {"memory_seconds", memory},
          {"bound", compute > memory ? "compute" : "memory"},
          {"fraction_of_roofline", std::max(compute, memory) / seconds},
          {"flops_per_second", cost.flops / seconds}};
}

// One complete event of a trace.
json trace_event(const std::string& name, int process, int thread, double start, double end) {
  return {{"name", name},  {"ph", "X"},   {"pid", process},
          {"tid", thread}, {"ts", start}, {"dur", end - start}};
}

json trace_name(const char* kind, int process, int thread, const std::string& name) {
  return {
      {"name", kind}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

}  // namespace

json write_facts(const ProgramRun& run, const Dumps& dumps, const Cost& cost,
                 const Device& device) {
  Totals sum = totals_of(run);
  double seconds = sum.cycles / device.clock_hz;
  Bottleneck bottleneck = bottleneck_of(sum, cost, device);
  json kernels = json::array();
  for (const KernelRun& kernel : run.kernels) {
    kernels.push_back({{"name", kernel.name},
                       {"cycles", kernel.simulation.cycles},
                       {"times", kernel.times},
                       {"seconds", kernel.simulation.cycles / device.clock_hz},
                       {"static_bundles", kernel.schedule.bundles.size()},
                       {"steps", kernel.simulation.steps}});
  }
  return {
      {"verdict", "ok"},
      {"target", device.name},
      {"model", kModel},
      {"modelled",
       {{"seconds", seconds},
        {"low", seconds * (1 - device.error)},
        {"high", seconds * (1 + device.error)},
        {"cycles", sum.cycles},
        {"lost",
         {{"dma_wait_seconds", sum.stall_cycles / device.clock_hz},
          {"empty_bundles_seconds", static_cast<double>(sum.empty_bundles) / device.clock_hz}}}}},
      {"bottleneck", bottleneck.name},
      {"evidence", bottleneck.evidence},
      {"bundles",
       {{"static", sum.static_bundles}, {"executed", sum.bundles}, {"empty", sum.empty_bundles}}},
      {"utilisation", utilisation_of(sum)},
      {"matmuls", sum.matmuls},
      {"steps", sum.steps},
      {"spills", {{"stores_executed", sum.spills}, {"loads_executed", sum.fills}}},
      {"vmem", vmem_facts(dumps, device)},
      {"dma",
       {{"load_bytes", sum.load_bytes},
        {"store_bytes", sum.store_bytes},
        {"loads", sum.loads},
        {"stores", sum.stores},
        {"minimum_bytes", cost.bytes}}},
      {"roofline", roofline_of(sum, cost, device)},
      {"kernels", kernels},
      {"not_modelled", run.not_modelled},
  };
}

json write_timeline(const ProgramRun& run, const Device& device) {
  constexpr int kProcess = 1;
  constexpr int kSteps = 1, kStalls = 2, kLoads = 3, kStores = 4;  // threads of the trace
  json events = json::array();
  events.push_back(
      trace_name("process_name", kProcess, 0, fmt::format("{} core (modelled)", device.name)));
  for (auto [thread, name] : {std::pair(kSteps, "kernels and grid steps (modelled)"),
                              std::pair(kStalls, "stalls: waiting for a DMA (modelled)"),
                              std::pair(kLoads, "DMA from HBM (modelled)"),
                              std::pair(kStores, "DMA to HBM (modelled)")}) {
    events.push_back(trace_name("thread_name", kProcess, thread, name));
  }
  auto microseconds = [&](double cycles) { return cycles / device.clock_hz * 1e6; };
  double start = 0;
  bool is_cut = false;
  for (const KernelRun& kernel : run.kernels) {
    const Simulation& one = kernel.simulation;
    if (kernel.times == 0) continue;
    std::string name = kernel.times == 1
                           ? kernel.name
                           : fmt::format("{} (the first of {})", kernel.name, kernel.times);
    events.push_back(
        trace_event(name, kProcess, kSteps, microseconds(start), microseconds(start + one.cycles)));
    is_cut = is_cut || one.spans_are_cut;
    for (const Span& span : one.spans) {
      constexpr std::array<int, 4> kThreads = {kLoads, kStores, kStalls, kSteps};
      constexpr std::array<const char*, 4> kNames = {"load", "store", "stall", "step"};
      auto kind = static_cast<size_t>(span.kind);
      json event = trace_event(kNames[kind], kProcess, kThreads[kind],
                               microseconds(start + span.start), microseconds(start + span.end));
      if (span.bytes > 0) event["args"] = {{"bytes", span.bytes}};
      events.push_back(std::move(event));
    }
    start += static_cast<double>(kernel.times) * one.cycles;
  }
  return {
      {"traceEvents", std::move(events)},
      {"displayTimeUnit", "ns"},
      {"otherData",
       {{"kind", "modelled"},
        {"model", kModel},
        {"target", device.name},
        {"note", is_cut ? "the first and the last events of each kind; those between are left out"
                        : "all events"}}}};
}

}  // namespace evolve::ir
