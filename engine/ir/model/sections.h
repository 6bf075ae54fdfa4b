// A kernel piece by piece: where in the text of its schedule, and in its source, the time goes.
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

// Bundles that control flow runs as one: it comes in before the first, and leaves after the last.
struct Section {
  size_t first = 0;  // bundle
  size_t bundles = 0;
  uint32_t line = 0;                        // of the dump, where the first bundle is
  uint64_t times = 0;                       // executed
  double cycles = 0;                        // of all of that, waits included
  double wait_cycles = 0;                   // for DMAs
  CyclesByCause by_cause{};                 // of the bundles' own cycles
  std::map<std::string, uint64_t> opcodes;  // times executed
  std::map<SourceLine, uint64_t> sources;   // instructions executed that come from there
};

// Those that ran, in the order of the text. Their cycles add up to the simulation's but for its
// drain.
std::vector<Section> sections_of(const Schedule& schedule, const Simulation& simulation,
                                 const Device& device);

// Cycles by the line of the source, where the schedule has them: those of a bundle in equal parts
// to the lines that its instructions come from, and, as in any line table, those of one without to
// the lines of the last one before it in its section. Waits for DMAs, and what comes from no line,
// are under the file "". They add up like the sections; empty for a schedule without lines.
std::map<SourceLine, double> cycles_by_line(const Schedule& schedule, const Simulation& simulation,
                                            const Device& device);

}  // namespace evolve::ir
