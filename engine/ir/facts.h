// Facts: what analyze says of a compiled program, as JSON. Schema in engine/ir/README.md.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/ir/model/program.h"

namespace evolve::ir {

// What the spec's formulas say of a case.
struct Cost {
  double flops = 0;
  double bytes = 0;  // the least that must cross HBM
};

// The model's name and version, as it stands in facts and times: a change of either is another
// model.
constexpr const char* kModel = "schedule-simulator-5";

// Returns the facts of a program that was simulated; bad input where one of its dumps is
// damaged.
Result<nlohmann::json> write_facts(const ProgramRun& run, const Dumps& dumps, const Cost& cost,
                                   const Device& device);

}  // namespace evolve::ir
