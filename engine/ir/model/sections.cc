#include "engine/ir/model/sections.h"

#include <algorithm>

namespace evolve::ir {

namespace {

// Marks the bundles where sections begin: the target of each branch, and the first bundle after the
// bundles that still run after a branch.
std::vector<bool> starts_of(const Schedule& schedule, const Device& device) {
  std::vector<bool> out(schedule.bundles.size(), false);
  auto mark = [&](size_t bundle) {
    if (bundle < out.size()) out[bundle] = true;
  };
  mark(0);
  auto delay = static_cast<size_t>(device.branch_delay_bundles);
  for (size_t i = 0; i < out.size(); ++i) {
    const Bundle& bundle = schedule.bundles[i];
    for (uint32_t k = 0; k < bundle.count; ++k) {
      const Instruction& one = schedule.instructions[bundle.first + k];
      if (one.op != Op::branch) continue;
      mark(one.target);
      mark(i + 1 + delay);
    }
  }
  return out;
}

// Returns the source line of an instruction. Null: the line is not known.
const SourceLine* source_of(const Schedule& schedule, size_t issue) {
  if (schedule.issue_sources.empty()) return nullptr;
  uint16_t number = schedule.issue_sources[issue];
  return number == 0 ? nullptr : &schedule.sources[number - 1];
}

}  // namespace

std::vector<Section> sections_of(const Schedule& schedule, const Simulation& simulation,
                                 const Device& device) {
  std::vector<bool> starts = starts_of(schedule, device);
  std::vector<Cause> causes = causes_of(schedule, device);
  std::vector<Section> out;
  for (size_t i = 0; i < starts.size(); ++i) {
    if (starts[i]) {
      out.emplace_back();
      out.back().first = i;
      out.back().line = schedule.bundles[i].line;
    }
    Section& section = out.back();
    uint64_t times = simulation.executed[i];
    ++section.bundles;
    section.times = std::max(section.times, times);
    section.cycles += static_cast<double>(times);
    section.by_cause[static_cast<size_t>(causes[i])] += static_cast<double>(times);
    if (auto stall = simulation.stalls.find(static_cast<uint32_t>(i));
        stall != simulation.stalls.end()) {
      section.cycles += stall->second;
      section.wait_cycles += stall->second;
    }
    if (times == 0) continue;
    const Bundle& bundle = schedule.bundles[i];
    for (uint32_t k = bundle.first_issue; k < bundle.first_issue + bundle.issues; ++k) {
      section.opcodes[schedule.opcodes[schedule.issues[k]].name] += times;
      if (const SourceLine* source = source_of(schedule, k)) section.sources[*source] += times;
    }
  }
  std::erase_if(out, [](const Section& section) { return section.times == 0; });
  return out;
}

std::map<SourceLine, double> cycles_by_line(const Schedule& schedule, const Simulation& simulation,
                                            const Device& device) {
  std::map<SourceLine, double> out;
  if (schedule.sources.empty()) return out;
  std::vector<bool> starts = starts_of(schedule, device);
  const SourceLine nowhere;
  std::vector<const SourceLine*> lines;
  for (size_t i = 0; i < schedule.bundles.size(); ++i) {
    const Bundle& bundle = schedule.bundles[i];
    std::vector<const SourceLine*> own;
    for (uint32_t k = bundle.first_issue; k < bundle.first_issue + bundle.issues; ++k) {
      if (const SourceLine* source = source_of(schedule, k)) own.push_back(source);
    }
    if (starts[i] || !own.empty()) lines = std::move(own);
    if (lines.empty()) lines.push_back(&nowhere);
    auto cycles = static_cast<double>(simulation.executed[i]) / static_cast<double>(lines.size());
    for (const SourceLine* line : lines) out[*line] += cycles;
    if (auto stall = simulation.stalls.find(static_cast<uint32_t>(i));
        stall != simulation.stalls.end())
      out[nowhere] += stall->second;
  }
  return out;
}

}  // namespace evolve::ir
