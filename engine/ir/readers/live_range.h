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

// Returns the bundles of the module's schedule that the regions of an LLO pass cover, by the
// regions' numbers. The comments of the schedule's bundles have these events:
//
//   comment = "/*" event {" :: " event} "*/"
//   event   = ("Start region" | "End region" | "Start/End empty region") number
//
// An allocation lives as long as its region. Nothing else can have its room until the region ends,
// and libtpu gives the same room to regions of which only one runs. References to the allocation
// would give shorter ranges, because references through a register are not seen. Ranges of
// neighbours overlap by some bundles, because the scheduler moved instructions up. A region without
// both ends is left out.
std::unordered_map<uint32_t, LiveRange> live_ranges(std::string_view schedule);

}  // namespace evolve::ir
