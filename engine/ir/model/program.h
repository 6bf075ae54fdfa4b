// A compiled program as its dumps show it, and what the model makes of it: the top-level program,
// and every kernel as often as that calls it.
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
  Simulation simulation;                  // on the dearer side of what hangs on data
  std::optional<Simulation> cheaper;      // on the cheaper one; none: nothing hangs on data
  std::vector<std::string> on_data;       // what does (on_data.h)
  uint64_t times = 1;                     // it runs so, on the dearer side of XLA's conditionals
  std::optional<uint64_t> cheaper_times;  // on the cheaper one; none: it is in no conditional
  std::string conditional;                // of XLA's own around it, named; empty: none
  bool has_kernel = false;                // of Pallas in it; false: all of it is XLA's own
  // Of all its runs.
  [[nodiscard]] double all_cycles() const { return static_cast<double>(times) * simulation.cycles; }
  // Of all its runs, on the cheaper side.
  [[nodiscard]] double least_cycles() const {
    return static_cast<double>(cheaper_times.value_or(times)) *
           (cheaper ? cheaper->cycles : simulation.cycles);
  }
};

struct ProgramRun {
  // The top-level program, what has no schedule, then in the order of their names; a kernel once
  // for each input.
  std::vector<KernelRun> kernels;
  // XLA's own modules that the model cannot follow, or that the dumps have no schedule of, and why.
  // Of the estimated ones `kernels` has an empty schedule, and the time that the bytes take which
  // they move by the HLO, or their matrix products at the device's peak where that is longer; the
  // others are left out.
  std::map<std::string, std::string> estimated;
  std::map<std::string, std::string> not_modelled;
  [[nodiscard]] double cycles() const;
};

// Simulates every module of the dumps that has a schedule: what the top-level program calls as
// often as it does that, the kernels of the input with their operands. Without a top-level program
// each runs once. Of a conditional of XLA's own one branch counts, the dearer and the cheaper one,
// and the top-level program's `on_data` names it.
Result<ProgramRun> run_program(const Dumps& dumps, const Device& device,
                               const ProgramInput& input = {});

}  // namespace evolve::ir
