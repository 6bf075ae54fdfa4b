// XLA's own loops in an HLO program: how often the instructions in them run.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/core/result.h"
#include "engine/ir/readers/hlo.h"

namespace evolve::ir {

// The passes of a `while` are known if it counts from a constant to a constant by a constant, and
// if all three belong to one element i of its tuple. The condition compares element i of its
// parameter with a constant. The body's element i is element i of its parameter plus or minus a
// constant. The loop starts with a constant in element i. JAX writes `scan` and `fori_loop` in this
// form. The passes are not known if the counter would leave the range of its type.
class HloLoops {
 public:
  explicit HloLoops(const HloModule& module);

  // Returns the passes through all loops around an instruction; 1: no loops. Each branch of a
  // conditional counts. An error of code `failed` has one of two reasons: the passes of a loop,
  // which it names, are not known, or the program does not call the instruction.
  [[nodiscard]] Result<uint64_t> passes_of(const std::string& instruction) const;

 private:
  // How often a computation runs. `why` is the reason if the number is not known, and empty if it
  // is known.
  struct Passes {
    uint64_t times = 1;
    std::string why = {};
  };
  void call(std::string_view computation, Passes passes);
  void call_from(const HloModule& module, const HloInstruction& caller, const Passes& around);

  std::map<std::string, Passes, std::less<>> passes_;               // by computation
  std::map<std::string, std::string, std::less<>> computation_of_;  // by instruction
};

}  // namespace evolve::ir
