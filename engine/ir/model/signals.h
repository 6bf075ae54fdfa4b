// What Glaucis tells its language model of a kernel, under its names: there it is counted in text
// that was not yet scheduled, here it is what was executed. For those who move over with rules that
// read them.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/ir/model/program.h"

namespace evolve::ir {

// `facts` are those of the run (facts.h), so far. Schema in engine/ir/README.md.
nlohmann::json write_signals(const ProgramRun& run, const nlohmann::json& facts,
                             const Device& device);

}  // namespace evolve::ir
