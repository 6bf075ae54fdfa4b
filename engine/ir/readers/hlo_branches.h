// The branches of XLA's own conditionals, which depend on data. One branch of each conditional
// runs: the dearer branch on the dearer side, and the cheaper branch on the cheaper side. This file
// says which instructions each side leaves out.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ir/readers/hlo.h"

namespace evolve::ir {

// Returns the computations that a conditional chooses among. Empty: the instruction is not a
// conditional.
std::vector<std::string_view> branches_of(const HloInstruction& instruction);

// Returns the computations that an instruction calls whatever the data are, such as the body of a
// loop or the computation of a fusion.
std::vector<std::string_view> computations_called_by(const HloInstruction& instruction);

// Returns an instruction's name for people: "'while.5' (kernel.py:39)".
std::string named(const HloInstruction& instruction);

// The cost of all calls of an instruction.
struct CallCost {
  double dearer = 0;  // cycles, on the dearer side of branches on data within it
  double cheaper = 0;
};

struct HloSides {
  std::set<std::string> left_out_of_dearer;  // instructions that no taken branch calls
  std::set<std::string> left_out_of_cheaper;
  // By instruction: the name of the innermost conditional around it. Instructions that a side
  // leaves out are included.
  std::map<std::string, std::string> conditionals;
  // The names of the conditionals around instructions with a cost, each once. A conditional is
  // included even if all its branches cost the same.
  std::vector<std::string> on_data;
};

// Chooses the branches of both sides. A branch costs as much as the instructions that it calls. Of
// each conditional within the branch, one branch counts. If several branches cost the same, the
// first is taken. A conditional in a loop goes the same way in each pass.
HloSides sides_of(const HloModule& module, const std::map<std::string, CallCost>& costs);

}  // namespace evolve::ir
