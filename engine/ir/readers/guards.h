// The guards of a schedule: its predicated instructions of the vector units. Only a run of the
// schedule shows whether these instructions run. One value of a predicate decides this for all
// instructions that depend on it.
#pragma once

#include <vector>

#include "engine/ir/readers/schedule.h"

namespace evolve::ir {

// A predicated instruction of the vector units, as the reader meets it.
struct Guarded {
  uint32_t bundle = 0;
  int32_t predicate = kNone;  // slot
  bool negated = false;
  uint16_t opcode = 0;
  bool halts = false;  // ends the kernel with an error
};

// Puts a `guard` before the first of each group of instructions that run together or not at all. A
// group has one predicate. It ends where the predicate may change or where another path of the
// program begins. `guarded` is in the order of the text.
void add_guards(Schedule& schedule, const std::vector<Guarded>& guarded);

}  // namespace evolve::ir
