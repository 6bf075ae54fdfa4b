// A compiled program, as its dumps show it, and its simulation: the top-level program, and every
// kernel as often as the top-level program calls it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/ir/model/device.h"
#include "engine/ir/model/operands.h"
#include "engine/ir/model/simulator.h"

namespace evolve::ir {

// The dumps by "module/stage.kind", as the compile step packs them.
using Dumps = std::map<std::string, std::string>;

struct KernelRun {
  std::string name;  // "TLP" is the top-level program
  Schedule schedule;
  Simulation simulation;                  // on the dearer side of branches on data
  std::optional<Simulation> cheaper;      // on the cheaper side; none: nothing depends on data
  std::vector<std::string> on_data;       // the branches on data (on_data.h)
  uint64_t times = 1;                     // equal runs, on the dearer side of XLA's conditionals
  std::optional<uint64_t> cheaper_times;  // on the cheaper side; none: it is in no conditional
  std::string conditional;                // XLA's own conditional around it, named; empty: none
  bool has_kernel = false;                // it has a Pallas kernel; false: all of it is XLA's own
  // The cycles of all its runs.
  [[nodiscard]] double all_cycles() const { return static_cast<double>(times) * simulation.cycles; }
  // The cycles of all its runs, on the cheaper side.
  [[nodiscard]] double least_cycles() const {
    return static_cast<double>(cheaper_times.value_or(times)) *
           (cheaper ? cheaper->cycles : simulation.cycles);
  }
};

struct ProgramRun {
  // The order is: the top-level program, then the modules that are called but have no schedule,
  // then the other modules by name. A kernel comes once for each of its inputs.
  std::vector<KernelRun> kernels;
  // Modules that the model cannot follow, or that have no schedule in the dumps, and why.
  //
  // An estimated module is XLA's own. In `kernels` it has an empty schedule. Its time is the longer
  // of two times: the time to move its bytes by the HLO, and the time of its matrix products at the
  // device's peak.
  //
  // A module that is not modelled is left out, or counts one pass of a loop whose length is not
  // known.
  std::map<std::string, std::string> estimated;
  std::map<std::string, std::string> not_modelled;
  [[nodiscard]] double cycles() const;
};

// Simulates every module of the dumps that has a schedule. A kernel gets the input's operands. A
// module counts as often as the top-level program calls it, or once without a top-level program.
// One branch of each of XLA's own conditionals counts: the dearer branch in `times`, and the
// cheaper branch in `cheaper_times`. The top-level program's `on_data` names these conditionals.
Result<ProgramRun> run_program(const Dumps& dumps, const Device& device,
                               const ProgramInput& input = {});

}  // namespace evolve::ir
