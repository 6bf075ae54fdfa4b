// How often the instructions of an HLO program run: the loops of XLA's own that are around them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/core/result.h"
#include "engine/ir/readers/hlo.h"

namespace evolve::ir {

// The passes of a `while` are known where it counts from a constant to a constant by a constant,
// and all three are those of one element of its tuple: the condition compares element i of its
// parameter, the body's element i is element i of its parameter plus or minus a constant, and the
// loop starts with a constant there. So does JAX write `scan` and `fori_loop`. A counter that would
// leave the range of its type is not known.
class HloLoops {
 public:
  explicit HloLoops(const HloModule& module);

  // Passes through all loops around an instruction, 1 where there are none; each branch of a
  // conditional counts. An error of code `failed` names the loop that is not known, and says why;
  // or that the program does not call the instruction.
  [[nodiscard]] Result<uint64_t> passes_of(const std::string& instruction) const;

 private:
  // How often a computation runs; `why` says that it is not known.
  struct Passes {
    uint64_t times = 1;
    std::string why = {};
  };
  void call(std::string_view computation, Passes passes);
  void call_from(const HloModule& module, const HloInstruction& caller, const Passes& around);

  std::map<std::string, Passes, std::less<>> passes_;               // of computations
  std::map<std::string, std::string, std::less<>> computation_of_;  // instructions
};

}  // namespace evolve::ir
