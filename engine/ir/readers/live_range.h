// The live ranges of allocations, in bundles of the schedule.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace evolve::ir {

struct LiveRange {
  uint32_t first = 0;  // bundle
  uint32_t last = 0;
};

// Returns where the regions of an LLO pass lie in the module's schedule, by their numbers. The
// schedule says so in comments of its bundles:
//
//   comment = "/*" event {" :: " event} "*/"
//   event   = ("Start region" | "End region" | "Start/End empty region") number
//
// An allocation lives as long as its region: nothing else can have its room until the region ends,
// and libtpu gives the same room to regions of which only one runs. References to the allocation
// would say less, because references through a register are not seen. Ranges of neighbours overlap
// by some bundles, where the scheduler moved instructions up. A region without both ends is left
// out.
std::unordered_map<uint32_t, LiveRange> live_ranges(std::string_view schedule);

}  // namespace evolve::ir
