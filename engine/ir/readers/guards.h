// Predicated instructions of the vector units: whether they run is known when the schedule is run,
// and the same for all that hang on one value of a predicate.
#pragma once

#include <vector>

#include "engine/ir/readers/schedule.h"

namespace evolve::ir {

// Such an instruction, as the reader meets it.
struct Guarded {
  uint32_t bundle = 0;
  int32_t predicate = kNone;  // slot
  bool negated = false;
  uint16_t opcode = 0;
  bool halts = false;  // ends the kernel with an error
};

// Puts a `guard` before the first of those that run or not together: those of one predicate,
// between two places where it may change or where another way of the program begins. `guarded` is
// in the order of the text.
void add_guards(Schedule& schedule, const std::vector<Guarded>& guarded);

}  // namespace evolve::ir
