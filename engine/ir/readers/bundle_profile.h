// The reader of the dump "TLP-…-hlo-static-bundle-profile.txt", in which libtpu profiles the text
// of a program's modules:
//
//   profile = {block}
//   block   = "HLO: " ("%" name " = " … | "<no-hlo-instruction>") {" - " counter} [empty line]
//   counter = name ": (" used "/" available ") - " share
//
// A counter belongs to a unit ("MXU_0 matmul_packed", "VECTOR_ALU") or to the spills of registers
// ("VMEM_SPILL_COUNT").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve::ir {

struct ProfileCounter {
  std::string name;
  uint64_t used = 0;
  uint64_t available = 0;
};

// The profile of an HLO instruction.
struct InstructionProfile {
  std::string instruction;  // "gmm.1"
  uint32_t line = 0;
  std::vector<ProfileCounter> counters;
};

// Returns the HLO instructions in the order of the dump. Counters of no instruction are left out.
// Bad input: "<name>:<line>: …".
Result<std::vector<InstructionProfile>> read_bundle_profile(std::string_view text,
                                                            const std::string& name);

}  // namespace evolve::ir
