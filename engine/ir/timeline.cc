#include "engine/ir/timeline.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "engine/ir/facts.h"

namespace evolve::ir {

namespace {

using nlohmann::json;

// Returns an event of a trace that lasts from `start` to `end`, in microseconds.
json trace_event(const std::string& name, int process, int thread, double start, double end) {
  return {{"name", name},  {"ph", "X"},   {"pid", process},
          {"tid", thread}, {"ts", start}, {"dur", end - start}};
}

json trace_name(const char* kind, int process, int thread, const std::string& name) {
  return {
      {"name", kind}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

}  // namespace

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
    start += kernel.all_cycles();
  }
  return {
      {"traceEvents", std::move(events)},
      {"displayTimeUnit", "ns"},
      {"otherData",
       {{"kind", "modelled"},
        {"model", kModel},
        {"target", device.name},
        {"note",
         is_cut ? "the first and the last events of each kind; the events between them are left out"
                : "all events"}}}};
}

}  // namespace evolve::ir
