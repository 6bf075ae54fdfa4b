// A compiled program as its dumps show it, and what the model makes of it: the simulation of every
// kernel and of the top-level program around them, one after another.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/ir/device.h"
#include "engine/ir/simulator.h"

namespace evolve::ir {

// The dumps by "module/stage.kind", as the compile step packs them.
using Dumps = std::map<std::string, std::string>;

struct KernelRun {
  std::string name;  // "TLP" is the top-level program
  size_t static_bundles = 0;
  Simulation simulation;
};

struct ProgramRun {
  std::vector<KernelRun> kernels;  // in the order of their names, the top-level program first
  [[nodiscard]] double cycles() const;
};

// Simulates every module of the dumps that has a schedule. Each kernel counts once.
Result<ProgramRun> run_program(const Dumps& dumps, const Device& device);

}  // namespace evolve::ir
