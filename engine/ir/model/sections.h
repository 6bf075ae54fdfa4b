// The sections of a kernel: where in the text of its schedule, and in its source, the time goes.
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

// Bundles that control flow runs as one. It enters before the first and leaves after the last.
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

// Returns the cycles by line of the source; empty: the schedule has no lines. A bundle's cycles are
// shared equally by the lines of its instructions. A bundle without a line counts for the lines of
// the last bundle before it that has any, in the same section, as in any line table. Waits for
// DMAs, and cycles without a line, are under the file "". All cycles add up like those of the
// sections.
std::map<SourceLine, double> cycles_by_line(const Schedule& schedule, const Simulation& simulation,
                                            const Device& device);

}  // namespace evolve::ir
