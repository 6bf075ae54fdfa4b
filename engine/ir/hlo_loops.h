// How often the instructions of an HLO program run, where loops of XLA's own are around them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/ir/hlo.h"

namespace evolve::ir {

// Of a `while` the passes are known where it counts from a constant to a constant by a constant:
// its condition is "element i of its tuple < limit", its body adds to that element. So does JAX
// write `scan` and `fori_loop`.
class HloLoops {
 public:
  explicit HloLoops(const HloModule& module);

  // Passes through all loops around an instruction, 1 where there are none; nullopt: not known, or
  // the program does not call it.
  [[nodiscard]] std::optional<uint64_t> passes_of(const std::string& instruction) const;

 private:
  std::map<std::string, std::optional<uint64_t>, std::less<>> passes_;  // of computations
  std::map<std::string, std::string, std::less<>> computation_of_;      // instructions
};

}  // namespace evolve::ir
