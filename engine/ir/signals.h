// The signals that Glaucis reports to its language model about a kernel, under its names. Glaucis
// counts them in text that is not yet scheduled; here the signals count what was executed. They
// serve people who have rules for Glaucis that read these signals.
#pragma once

#include "engine/ir/facts.h"

namespace evolve::ir {

// Returns the signals of a run. `facts` are the run's facts so far.
Signals signals_of(const ProgramRun& run, const Facts& facts, const Device& device);

}  // namespace evolve::ir
