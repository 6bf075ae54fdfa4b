#include "engine/ir/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "engine/core/text/units.h"
#include "engine/ir/model/lost_time.h"
#include "engine/ir/model/sections.h"
#include "engine/ir/model/work.h"
#include "engine/ir/readers/vmem_report.h"
#include "engine/ir/signals.h"
#include "engine/ir/static_facts.h"

namespace evolve::ir {

namespace {

// How often an opcode was executed, and for how long it kept a matrix unit busy.
struct OpcodeCount {
  uint64_t executed = 0;
  uint64_t matmul_cycles = 0;
  bool is_unknown = false;
};

// Totals of the executed work, in one run of a kernel or in all kernels of a program.
struct Tally {
  double cycles = 0, stall_cycles = 0, load_bytes = 0, store_bytes = 0;
  uint64_t bundles = 0, empty_bundles = 0, loads = 0, stores = 0, matmuls = 0, steps = 0,
           spills = 0, fills = 0, unknown_guards = 0;
  size_t static_bundles = 0;
  std::array<uint64_t, kUnits> issued{};
  CyclesByCause by_cause{};
  std::map<std::string, OpcodeCount> opcodes;

  void add(const KernelRun& kernel, uint64_t times, const Device& device) {
    const Simulation& one = kernel.simulation;
    auto factor = static_cast<double>(times);
    cycles += factor * one.cycles;
    stall_cycles += factor * one.stall_cycles;
    load_bytes += factor * one.load_bytes;
    store_bytes += factor * one.store_bytes;
    bundles += times * one.bundles;
    empty_bundles += times * one.empty_bundles;
    loads += times * one.loads;
    stores += times * one.stores;
    matmuls += times * one.matmuls;
    steps += times * one.steps;
    spills += times * one.spills;
    fills += times * one.fills;
    for (const auto& [guard, unknown] : one.unknown_guards) unknown_guards += times * unknown.times;
    static_bundles += kernel.schedule.bundles.size();
    for (size_t unit = 0; unit < kUnits; ++unit) issued[unit] += times * one.issued[unit];
    CyclesByCause causes = lost_time(kernel.schedule, one, device);
    for (size_t cause = 0; cause < kCauses; ++cause) by_cause[cause] += factor * causes[cause];
    for (size_t i = 0; i < kernel.schedule.opcodes.size(); ++i) {
      const Opcode& opcode = kernel.schedule.opcodes[i];
      OpcodeCount& count = opcodes[opcode.name];
      count.executed += times * one.opcodes[i];
      count.matmul_cycles += times * one.opcodes[i] * ir::matmul_cycles(opcode, device);
      count.is_unknown = opcode.op == Op::unknown;
    }
  }
};

// Returns the largest use of VMEM by a kernel, and the windows of each kernel's operands. The sizes
// have no value if the report is missing or cannot be read. If the report cannot be read, `unread`
// gets the reason.
VmemFacts vmem_facts(const Dumps& dumps, const Device& device, std::vector<std::string>& unread) {
  VmemFacts out;
  out.capacity_bytes = device.vmem_bytes;
  auto page = dumps.find("TLP/vmem_report.html");
  if (page == dumps.end()) return out;
  auto report = read_vmem_report(page->second, page->first);
  if (!report) {
    unread.push_back(report.error().message);
    return out;
  }
  uint64_t most = 0;
  uint64_t most_spilled = 0;
  for (const ModuleMemory& module : *report) {
    uint64_t spilled = 0;
    for (const Allocation& one : module.allocations) {
      if (one.is_spill) spilled += one.bytes;
      if (!one.window) continue;
      out.windows.push_back(
          {.module = module.module,
           .operand = fmt::format("{} {}", one.window->is_output ? "output" : "input",
                                  one.window->operand),
           .window = one.window->shape,
           .window_bytes = one.window->window_bytes,
           .bytes = one.bytes,
           .buffers = one.window->buffers});
    }
    most = std::max(most, module.bytes);
    most_spilled = std::max(most_spilled, spilled);
  }
  out.allocated_bytes = most;
  out.spilled_bytes = most_spilled;
  return out;
}

// A cause, or several causes that authors of kernels treat as one.
struct Bottleneck {
  const char* name;
  const char* words;
  double cycles;
};

std::vector<Bottleneck> bottlenecks_of(const Tally& tally) {
  auto at = [&](Cause cause) { return tally.by_cause[static_cast<size_t>(cause)]; };
  std::vector<Bottleneck> out = {
      {"mxu", cause_words(Cause::mxu), at(Cause::mxu)},
      {"vector", cause_words(Cause::vector), at(Cause::vector)},
      {"spill", cause_words(Cause::spill), at(Cause::spill)},
      {"scalar", cause_words(Cause::scalar), at(Cause::scalar)},
      {"latency", cause_words(Cause::latency), at(Cause::latency)},
      {"dma_wait", "waits for DMAs",
       at(Cause::dma_bandwidth) + at(Cause::dma_latency) + at(Cause::drain)}};
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.cycles > b.cycles; });
  return out;
}

// Adds the cause that takes most of the time, and the prize. The prize says how much shorter the
// time would be without the largest cause other than busy matrix units. "hbm" means that the kernel
// waits for DMAs while bytes move nearly always. Such a kernel has to move less, because an earlier
// start of its DMAs would not help.
void add_bottleneck(const Tally& tally, const Device& device, ExecutionFacts& facts) {
  constexpr double kNearlyAlways = 0.85;
  std::vector<Bottleneck> all = bottlenecks_of(tally);
  const Bottleneck& first = all.front();
  const Bottleneck& prize = first.name == std::string_view("mxu") ? all[1] : first;
  double moving = (tally.load_bytes + tally.store_bytes) / device.hbm_bytes_per_second *
                  device.clock_hz / tally.cycles;
  facts.bottleneck = first.name;
  facts.evidence =
      fmt::format("{} of the time: {}", percent(first.cycles / tally.cycles), first.words);
  if (facts.bottleneck == "dma_wait" && moving > kNearlyAlways) {
    facts.bottleneck = "hbm";
    facts.evidence += fmt::format("; bytes move {} of the time", percent(moving));
  }
  facts.prize = {prize.words, prize.cycles / tally.cycles};
}

std::vector<CauseTime> causes_of(const Tally& tally, const Device& device) {
  std::vector<CauseTime> out;
  for (size_t cause = 0; cause < kCauses; ++cause) {
    double cycles = tally.by_cause[cause];
    out.push_back({.cause = cause_name(static_cast<Cause>(cause)),
                   .what = cause_words(static_cast<Cause>(cause)),
                   .seconds = cycles / device.clock_hz,
                   .share = cycles / tally.cycles});
  }
  return out;
}

std::map<std::string, double> utilisation_of(const Tally& tally) {
  std::map<std::string, double> out;
  for (size_t unit = 0; unit < kUnits; ++unit) {
    out[unit_name(static_cast<Unit>(unit))] =
        static_cast<double>(tally.issued[unit]) / tally.cycles;
  }
  return out;
}

// Fills in the facts that a kernel and the program both have.
void add_tally(const Tally& tally, const Device& device, ExecutionFacts& facts) {
  facts.cycles = tally.cycles;
  facts.seconds = tally.cycles / device.clock_hz;
  facts.stall_cycles = tally.stall_cycles;
  facts.by_cause = causes_of(tally, device);
  add_bottleneck(tally, device, facts);
  facts.bundles = {
      .in_text = tally.static_bundles, .executed = tally.bundles, .empty = tally.empty_bundles};
  facts.utilisation = utilisation_of(tally);
  facts.matmuls = tally.matmuls;
  for (const auto& [name, count] : tally.opcodes) {
    if (count.executed == 0) continue;
    facts.opcodes[name] = count.executed;
    if (count.is_unknown) facts.unknown_opcodes[name] = count.executed;
    if (count.matmul_cycles > 0)
      facts.matmuls_by_opcode[name] = {count.executed, count.matmul_cycles};
  }
  facts.unknown_guards = tally.unknown_guards;
  facts.steps = tally.steps;
  facts.spills = {.stores_executed = tally.spills, .loads_executed = tally.fills};
  facts.dma = {.load_bytes = tally.load_bytes,
               .store_bytes = tally.store_bytes,
               .loads = tally.loads,
               .stores = tally.stores,
               .minimum_bytes = {}};
}

template <class Amount>
std::vector<std::pair<SourceLine, Amount>> by_amount(const std::map<SourceLine, Amount>& lines) {
  std::vector<std::pair<SourceLine, Amount>> out(lines.begin(), lines.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

// Returns the lines that most of a section's instructions come from, such as "kernel.py:39".
std::vector<std::string> most_lines(const std::map<SourceLine, uint64_t>& sources) {
  constexpr size_t kMost = 3;
  std::vector<std::string> out;
  for (const auto& [source, times] : by_amount(sources)) {
    if (out.size() == kMost) break;
    out.push_back(fmt::format("{}:{}", source.file, source.line));
  }
  return out;
}

// Returns the lines of the source that take a hundredth of a kernel's time or more.
std::vector<LineTime> lines_of(const KernelRun& kernel, const Device& device) {
  constexpr double kLeastShare = 0.01;
  std::vector<LineTime> out;
  for (const auto& [source, cycles] :
       by_amount(cycles_by_line(kernel.schedule, kernel.simulation, device))) {
    double share = cycles / kernel.simulation.cycles;
    if (share < kLeastShare) break;
    out.push_back({source.file, source.line, cycles / device.clock_hz, share});
  }
  return out;
}

// Returns the pieces of a kernel's text that take at least a hundredth of its time, each with the
// opcodes that it executes most.
std::vector<SectionFacts> section_facts(const KernelRun& kernel, const Device& device) {
  constexpr double kLeastShare = 0.01;
  constexpr size_t kMostFactOpcodes = 16;
  std::vector<SectionFacts> out;
  for (const Section& section : sections_of(kernel.schedule, kernel.simulation, device)) {
    if (section.cycles < kLeastShare * kernel.simulation.cycles) continue;
    std::vector<std::pair<std::string, uint64_t>> opcodes(section.opcodes.begin(),
                                                          section.opcodes.end());
    std::stable_sort(opcodes.begin(), opcodes.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    if (opcodes.size() > kMostFactOpcodes) opcodes.resize(kMostFactOpcodes);
    SectionFacts facts;
    facts.bundle = section.first;
    facts.bundles = section.bundles;
    facts.line = section.line;
    facts.times = section.times;
    facts.seconds = section.cycles / device.clock_hz;
    facts.by_cause["wait"] = section.wait_cycles / device.clock_hz;
    for (size_t cause = 0; cause < kCauses; ++cause) {
      if (section.by_cause[cause] > 0) {
        facts.by_cause[cause_name(static_cast<Cause>(cause))] =
            section.by_cause[cause] / device.clock_hz;
      }
    }
    facts.opcodes = {opcodes.begin(), opcodes.end()};
    facts.source = most_lines(section.sources);
    out.push_back(std::move(facts));
  }
  return out;
}

// Returns the DMA traffic of each operand of a kernel.
std::vector<OperandTraffic> traffic_of(const KernelRun& kernel, const Device& device) {
  std::vector<OperandTraffic> out;
  for (const auto& [number, traffic] : kernel.simulation.traffic) {
    OperandTraffic one;
    one.loads = traffic.loads;
    one.load_bytes = traffic.load_bytes;
    one.stores = traffic.stores;
    one.store_bytes = traffic.store_bytes;
    one.wait_seconds = traffic.wait_cycles / device.clock_hz;
    for (const KernelOperand& operand : kernel.schedule.operands) {
      if (operand.number != number) continue;
      one.operand = number;
      one.kind = operand.is_output ? "output" : "input";
      one.shape = fmt::format("{}[{}]", operand.dtype, fmt::join(operand.shape, ","));
      if (auto bytes = shape_bytes(one.shape)) one.bytes = bytes;
    }
    out.push_back(std::move(one));
  }
  return out;
}

Roofline roofline_of(const Tally& tally, const SpecCost& cost, const Device& device) {
  double seconds = tally.cycles / device.clock_hz;
  double compute = cost.flops / device.peak_flops;
  double memory = cost.bytes / device.hbm_bytes_per_second;
  return {.compute_seconds = compute,
          .memory_seconds = memory,
          .bound = compute > memory ? "compute" : "memory",
          .fraction_of_roofline = std::max(compute, memory) / seconds,
          .flops_per_second = cost.flops / seconds};
}

WorkFacts work_facts(const Work& work) {
  return {.matrix_flops = work.matrix_flops,
          .most_vector_flops = work.vector_flops,
          .uncertain_flops = work.uncertain_flops,
          .bytes = work.load_bytes + work.store_bytes,
          .store_bytes = work.store_bytes,
          .guard = work.guard};
}

// Fills in the modelled time, and the list of everything that depends on data.
void add_time(const ProgramRun& run, const Device& device, Facts& facts) {
  double added_up = 0;
  double least = facts.seconds;
  for (const KernelRun& kernel : run.kernels) {
    added_up += static_cast<double>(kernel.times) * kernel.simulation.added_up_cycles;
    least -= (kernel.all_cycles() - kernel.least_cycles()) / device.clock_hz;
    for (const std::string& what : kernel.on_data) facts.on_data.push_back({kernel.name, what});
  }
  facts.modelled = {.seconds = facts.seconds,
                    .low = least * (1 - device.error),
                    .high = facts.seconds * (1 + device.error),
                    .cycles = facts.cycles,
                    .added_up_share = added_up / facts.cycles,
                    .cheaper_seconds = {}};
  if (!facts.on_data.empty()) facts.modelled.cheaper_seconds = least;
}

}  // namespace

Result<Facts> facts_of(const ProgramRun& run, const Dumps& dumps, const SpecCost& cost,
                       const Device& device) {
  Facts facts;
  facts.target = device.name;
  facts.model = kModel;
  facts.vmem = vmem_facts(dumps, device, facts.unread);
  const StaticFacts static_facts(dumps, facts.unread);
  Tally all;
  for (const KernelRun& kernel : run.kernels) {
    all.add(kernel, kernel.times, device);
    Tally one;
    one.add(kernel, 1, device);
    KernelFacts of_kernel;
    add_tally(one, device, of_kernel);
    of_kernel.name = kernel.name;
    of_kernel.times = kernel.times;
    of_kernel.traffic = traffic_of(kernel, device);
    of_kernel.sections = section_facts(kernel, device);
    of_kernel.by_line = lines_of(kernel, device);
    static_facts.add_to(of_kernel, dumps, facts.unread);
    facts.kernels.push_back(std::move(of_kernel));
  }
  add_tally(all, device, facts);
  add_time(run, device, facts);
  facts.dma.minimum_bytes = cost.bytes;
  facts.roofline = roofline_of(all, cost, device);
  facts.estimated = run.estimated;
  facts.not_modelled = run.not_modelled;
  facts.signals = signals_of(run, facts, device);
  facts.flops = {.executed = facts.signals.flops, .minimum = cost.flops};
  facts.work = work_facts(work_of(run, device));
  return facts;
}

NeededFacts needed_facts(const Needs& needs, const Device& device) {
  return {.flops = needs.flops,
          .bytes = needs.bytes,
          .output_bytes = needs.output_bytes,
          .share = needs.share,
          .is_average = needs.is_average,
          .seconds = least_seconds(needs, device)};
}

}  // namespace evolve::ir
