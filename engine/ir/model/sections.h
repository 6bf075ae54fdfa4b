// The sections of a kernel: the parts of its schedule's text, and of its source, with their time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/ir/model/device.h"
#include "engine/ir/model/lost_time.h"
#include "engine/ir/model/simulator.h"
#include "engine/ir/readers/schedule.h"

namespace evolve::ir {

// Bundles that control flow runs as one. Control flow enters before the first bundle and leaves
// after the last.
struct Section {
  size_t first = 0;  // bundle
  size_t bundles = 0;
  uint32_t line = 0;                        // of the dump, where the first bundle is
  uint64_t times = 0;                       // executed
  double cycles = 0;                        // of all executions, waits included
  double wait_cycles = 0;                   // for DMAs
  CyclesByCause by_cause{};                 // of the bundles' own cycles
  std::map<std::string, uint64_t> opcodes;  // times executed
  std::map<SourceLine, uint64_t> sources;  // instructions executed, by the line that they come from
};

// Returns the sections that ran, in the order of the text. Their cycles add up to the simulation's
// cycles without its drain.
std::vector<Section> sections_of(const Schedule& schedule, const Simulation& simulation,
                                 const Device& device);

// Returns the cycles by line of the source. Empty: the schedule has no lines. The lines of a
// bundle's instructions share the bundle's cycles equally. A bundle without a line counts for the
// lines of the last bundle before it that has any, in the same section. Waits for DMAs, and cycles
// without a line, are under the file "". All cycles add up to the same sum as the cycles of the
// sections.
std::map<SourceLine, double> cycles_by_line(const Schedule& schedule, const Simulation& simulation,
                                            const Device& device);

}  // namespace evolve::ir
