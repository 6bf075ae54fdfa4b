// The branches of XLA's own conditionals, which depend on data. One branch of each runs: the dearer
// or the cheaper one. This file says what runs on either side.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ir/readers/hlo.h"

namespace evolve::ir {

// Returns the computations that a conditional chooses among; empty: another instruction.
std::vector<std::string_view> branches_of(const HloInstruction& instruction);

// Returns the computations that an instruction calls whatever the data are, such as a loop's or a
// fusion's.
std::vector<std::string_view> computations_called_by(const HloInstruction& instruction);

// Returns an instruction's name for people: "'while.5' (kernel.py:39)".
std::string named(const HloInstruction& instruction);

// The cost of all calls of an instruction.
struct CallCost {
  double dearer = 0;  // cycles, where what depends on data within it goes the dearer way
  double cheaper = 0;
};

struct HloSides {
  std::set<std::string> left_out_of_dearer;  // instructions that no taken branch calls
  std::set<std::string> left_out_of_cheaper;
  // The innermost conditional, named, by the instructions in it, left out or not.
  std::map<std::string, std::string> conditionals;
  // The conditionals around an instruction with a cost, each once, named, even if all branches cost
  // the same.
  std::vector<std::string> on_data;
};

// Chooses the branches of both sides. A branch costs as much as the instructions that it calls. One
// branch counts of each conditional in it. Of branches that cost the same the first is taken. A
// conditional in a loop goes the same way in each pass.
HloSides sides_of(const HloModule& module, const std::map<std::string, CallCost>& costs);

}  // namespace evolve::ir
