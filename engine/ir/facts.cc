#include "engine/ir/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "engine/core/text/units.h"
#include "engine/ir/model/lost_time.h"
#include "engine/ir/model/sections.h"
#include "engine/ir/model/signals.h"
#include "engine/ir/model/work.h"
#include "engine/ir/readers/vmem_report.h"
#include "engine/ir/static_facts.h"

namespace evolve::ir {

namespace {

using nlohmann::json;

// How often an opcode was executed, and for how long it kept a matrix unit busy.
struct OpcodeCount {
  uint64_t executed = 0;
  uint64_t matmul_cycles = 0;
  bool is_unknown = false;
};

// Totals of what was executed, in one run of a kernel or in all kernels of a program.
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

// Returns what the largest kernel has in VMEM, and where each kernel's blocks lie. The sizes are
// null if the report is missing or cannot be read; then `unread` gets the reason.
json vmem_facts(const Dumps& dumps, const Device& device, std::vector<std::string>& unread) {
  json most, most_spilled;
  json windows = json::array();
  std::vector<ModuleMemory> modules;
  if (auto page = dumps.find("TLP/vmem_report.html"); page != dumps.end()) {
    auto report = read_vmem_report(page->second, page->first);
    if (report) {
      modules = *std::move(report);
      most = most_spilled = 0;
    } else {
      unread.push_back(report.error().message);
    }
  }
  for (const ModuleMemory& module : modules) {
    uint64_t spilled = 0;
    for (const Allocation& one : module.allocations) {
      if (one.is_spill) spilled += one.bytes;
      if (!one.window) continue;
      windows.push_back(
          {{"module", module.module},
           {"operand",
            fmt::format("{} {}", one.window->is_output ? "output" : "input", one.window->operand)},
           {"window", one.window->shape},
           {"window_bytes", one.window->window_bytes},
           {"bytes", one.bytes},
           {"buffers", one.window->buffers}});
    }
    most = std::max(most.get<uint64_t>(), module.bytes);
    most_spilled = std::max(most_spilled.get<uint64_t>(), spilled);
  }
  return json{{"allocated_bytes", most},
              {"spilled_bytes", most_spilled},
              {"capacity_bytes", device.vmem_bytes},
              {"windows", windows}};
}

// A cause, or several causes that are one for authors of kernels.
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

// Returns the cause that takes most of the time, and the size of the prize: how much shorter the
// time would be without the largest cause other than busy matrix units. "hbm" means that the kernel
// waits for DMAs while bytes move nearly always: then it has to move less, not to start earlier.
json bottleneck_of(const Tally& tally, const Device& device) {
  constexpr double kNearlyAlways = 0.85;
  std::vector<Bottleneck> all = bottlenecks_of(tally);
  const Bottleneck& first = all.front();
  const Bottleneck& prize = first.name == std::string_view("mxu") ? all[1] : first;
  double moving = (tally.load_bytes + tally.store_bytes) / device.hbm_bytes_per_second *
                  device.clock_hz / tally.cycles;
  std::string name = first.name;
  std::string evidence =
      fmt::format("{} of the time: {}", percent(first.cycles / tally.cycles), first.words);
  if (name == "dma_wait" && moving > kNearlyAlways) {
    name = "hbm";
    evidence += fmt::format("; bytes move {} of the time", percent(moving));
  }
  return {{"bottleneck", name},
          {"evidence", evidence},
          {"prize", {{"what", prize.words}, {"share", prize.cycles / tally.cycles}}}};
}

json causes_json(const Tally& tally, const Device& device) {
  json out = json::array();
  for (size_t cause = 0; cause < kCauses; ++cause) {
    double cycles = tally.by_cause[cause];
    out.push_back({{"cause", cause_name(static_cast<Cause>(cause))},
                   {"what", cause_words(static_cast<Cause>(cause))},
                   {"seconds", cycles / device.clock_hz},
                   {"share", cycles / tally.cycles}});
  }
  return out;
}

json utilisation_of(const Tally& tally) {
  json out = json::object();
  for (size_t unit = 0; unit < kUnits; ++unit) {
    out[unit_name(static_cast<Unit>(unit))] =
        static_cast<double>(tally.issued[unit]) / tally.cycles;
  }
  return out;
}

// Returns the facts that a kernel and the program both have.
json tally_json(const Tally& tally, const Device& device) {
  json matmuls = json::object();
  json opcodes = json::object();
  json unknown = json::object();
  for (const auto& [name, count] : tally.opcodes) {
    if (count.executed == 0) continue;
    opcodes[name] = count.executed;
    if (count.is_unknown) unknown[name] = count.executed;
    if (count.matmul_cycles > 0)
      matmuls[name] = {{"executed", count.executed}, {"busy_cycles", count.matmul_cycles}};
  }
  json out = {
      {"cycles", tally.cycles},
      {"seconds", tally.cycles / device.clock_hz},
      {"by_cause", causes_json(tally, device)},
      {"bundles",
       {{"static", tally.static_bundles},
        {"executed", tally.bundles},
        {"empty", tally.empty_bundles}}},
      {"stall_cycles", tally.stall_cycles},
      {"utilisation", utilisation_of(tally)},
      {"matmuls", tally.matmuls},
      {"matmuls_by_opcode", matmuls},
      {"opcodes", opcodes},
      {"unknown_opcodes", unknown},
      {"unknown_guards", tally.unknown_guards},
      {"steps", tally.steps},
      {"spills", {{"stores_executed", tally.spills}, {"loads_executed", tally.fills}}},
      {"dma",
       {{"load_bytes", tally.load_bytes},
        {"store_bytes", tally.store_bytes},
        {"loads", tally.loads},
        {"stores", tally.stores}}},
  };
  out.update(bottleneck_of(tally, device));
  return out;
}

template <class Amount>
std::vector<std::pair<SourceLine, Amount>> by_amount(const std::map<SourceLine, Amount>& lines) {
  std::vector<std::pair<SourceLine, Amount>> out(lines.begin(), lines.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

// Returns the lines that most of a section's instructions come from: "kernel.py:39".
json most_lines(const std::map<SourceLine, uint64_t>& sources) {
  constexpr size_t kMost = 3;
  json out = json::array();
  for (const auto& [source, times] : by_amount(sources)) {
    if (out.size() == kMost) break;
    out.push_back(fmt::format("{}:{}", source.file, source.line));
  }
  return out;
}

// Returns the lines of the source that take a hundredth of a kernel's time or more.
json lines_json(const KernelRun& kernel, const Device& device) {
  constexpr double kLeastShare = 0.01;
  json out = json::array();
  for (const auto& [source, cycles] :
       by_amount(cycles_by_line(kernel.schedule, kernel.simulation, device))) {
    double share = cycles / kernel.simulation.cycles;
    if (share < kLeastShare) break;
    out.push_back({{"file", source.file},
                   {"line", source.line},
                   {"seconds", cycles / device.clock_hz},
                   {"share", share}});
  }
  return out;
}

// Returns the pieces of a kernel's text that take at least a hundredth of its time, each with the
// opcodes that it executes most.
json sections_json(const KernelRun& kernel, const Device& device) {
  constexpr double kLeastShare = 0.01;
  constexpr size_t kMostOpcodes = 16;
  json out = json::array();
  for (const Section& section : sections_of(kernel.schedule, kernel.simulation, device)) {
    if (section.cycles < kLeastShare * kernel.simulation.cycles) continue;
    std::vector<std::pair<std::string, uint64_t>> opcodes(section.opcodes.begin(),
                                                          section.opcodes.end());
    std::stable_sort(opcodes.begin(), opcodes.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    if (opcodes.size() > kMostOpcodes) opcodes.resize(kMostOpcodes);
    json causes = {{"wait", section.wait_cycles / device.clock_hz}};
    for (size_t cause = 0; cause < kCauses; ++cause) {
      if (section.by_cause[cause] > 0)
        causes[cause_name(static_cast<Cause>(cause))] = section.by_cause[cause] / device.clock_hz;
    }
    out.push_back({{"bundle", section.first},
                   {"bundles", section.bundles},
                   {"line", section.line},
                   {"times", section.times},
                   {"seconds", section.cycles / device.clock_hz},
                   {"by_cause", causes},
                   {"opcodes", std::map(opcodes.begin(), opcodes.end())},
                   {"source", most_lines(section.sources)}});
  }
  return out;
}

// Returns what was moved of each of a kernel's operands.
json traffic_json(const KernelRun& kernel, const Device& device) {
  json out = json::array();
  for (const auto& [number, traffic] : kernel.simulation.traffic) {
    json one = {{"operand", nullptr},
                {"loads", traffic.loads},
                {"load_bytes", traffic.load_bytes},
                {"stores", traffic.stores},
                {"store_bytes", traffic.store_bytes},
                {"wait_seconds", traffic.wait_cycles / device.clock_hz}};
    for (const KernelOperand& operand : kernel.schedule.operands) {
      if (operand.number != number) continue;
      const std::string shape = fmt::format("{}[{}]", operand.dtype, fmt::join(operand.shape, ","));
      one["operand"] = number;
      one["kind"] = operand.is_output ? "output" : "input";
      one["shape"] = shape;
      if (auto bytes = shape_bytes(shape)) one["bytes"] = *bytes;
    }
    out.push_back(std::move(one));
  }
  return out;
}

json roofline_of(const Tally& tally, const Cost& cost, const Device& device) {
  double seconds = tally.cycles / device.clock_hz;
  double compute = cost.flops / device.peak_flops;
  double memory = cost.bytes / device.hbm_bytes_per_second;
  return {{"compute_seconds", compute},
          {"memory_seconds", memory},
          {"bound", compute > memory ? "compute" : "memory"},
          {"fraction_of_roofline", std::max(compute, memory) / seconds},
          {"flops_per_second", cost.flops / seconds}};
}

}  // namespace

Result<json> write_facts(const ProgramRun& run, const Dumps& dumps, const Cost& cost,
                         const Device& device) {
  std::vector<std::string> unread;
  json vmem = vmem_facts(dumps, device, unread);
  const StaticFacts static_facts(dumps, unread);
  Tally all;
  json kernels = json::array();
  for (const KernelRun& kernel : run.kernels) {
    all.add(kernel, kernel.times, device);
    Tally one;
    one.add(kernel, 1, device);
    json facts = tally_json(one, device);
    facts["name"] = kernel.name;
    facts["times"] = kernel.times;
    facts["traffic"] = traffic_json(kernel, device);
    facts["sections"] = sections_json(kernel, device);
    facts["by_line"] = lines_json(kernel, device);
    static_facts.add_to(facts, kernel.name, dumps, unread);
    kernels.push_back(std::move(facts));
  }
  json facts = tally_json(all, device);
  double seconds = all.cycles / device.clock_hz;
  double added_up = 0;
  double least = seconds;
  json on_data = json::array();
  for (const KernelRun& kernel : run.kernels) {
    added_up += static_cast<double>(kernel.times) * kernel.simulation.added_up_cycles;
    least -= (kernel.all_cycles() - kernel.least_cycles()) / device.clock_hz;
    for (const std::string& what : kernel.on_data)
      on_data.push_back({{"kernel", kernel.name}, {"what", what}});
  }
  facts["verdict"] = "ok";
  facts["target"] = device.name;
  facts["model"] = kModel;
  facts["modelled"] = {{"seconds", seconds},
                       {"low", least * (1 - device.error)},
                       {"high", seconds * (1 + device.error)},
                       {"cycles", all.cycles},
                       {"added_up_share", added_up / all.cycles}};
  if (!on_data.empty()) {
    facts["modelled"]["cheaper_seconds"] = least;
    facts["on_data"] = std::move(on_data);
  }
  facts["dma"]["minimum_bytes"] = cost.bytes;
  facts["vmem"] = std::move(vmem);
  facts["roofline"] = roofline_of(all, cost, device);
  facts["kernels"] = std::move(kernels);
  facts["estimated"] = run.estimated;
  facts["not_modelled"] = run.not_modelled;
  facts["unread"] = unread;
  facts["signals"] = write_signals(run, facts, device);
  facts["flops"] = {{"executed", facts["signals"]["flops"]}, {"minimum", cost.flops}};
  facts["work"] = work_json(work_of(run, device));
  return facts;
}

}  // namespace evolve::ir
