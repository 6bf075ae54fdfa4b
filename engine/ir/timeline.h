// The run of a program as a timeline in Chrome's trace format.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/ir/model/program.h"

namespace evolve::ir {

// Returns the trace, in microseconds. Every name in it says that it is modelled.
nlohmann::json write_timeline(const ProgramRun& run, const Device& device);

}  // namespace evolve::ir
