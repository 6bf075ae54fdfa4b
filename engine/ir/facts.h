// Facts: what analyze says of a compiled program, as JSON. Schema in engine/ir/README.md.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/ir/model/program.h"

namespace evolve::ir {

// A case's costs, by the spec's formulas.
struct Cost {
  double flops = 0;
  double bytes = 0;  // the least that must cross HBM
};

// The model's name and version, as facts and times have it. A change of either is another model.
constexpr const char* kModel = "schedule-simulator-5";

// Returns the facts of a program that was simulated. Bad input: one of its dumps is damaged.
Result<nlohmann::json> write_facts(const ProgramRun& run, const Dumps& dumps, const Cost& cost,
                                   const Device& device);

}  // namespace evolve::ir
