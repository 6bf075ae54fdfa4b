// The signals that Glaucis reports to its language model about a kernel, under its names. Glaucis
// counts them in text that is not yet scheduled; here they count what was executed. They are for
// people who come from Glaucis with rules that read these signals.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/ir/model/program.h"

namespace evolve::ir {

// Returns the signals of a run. `facts` are the run's facts so far (facts.h). Schema in
// engine/ir/README.md.
nlohmann::json write_signals(const ProgramRun& run, const nlohmann::json& facts,
                             const Device& device);

}  // namespace evolve::ir
