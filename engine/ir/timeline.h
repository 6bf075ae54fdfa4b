// The run of a program as a timeline in Chrome's trace format.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/ir/model/program.h"

namespace evolve::ir {

// Returns the trace, in microseconds. The names of the process and of its threads say that the
// times are modelled.
nlohmann::json write_timeline(const ProgramRun& run, const Device& device);

}  // namespace evolve::ir
