// What of an HLO program runs on either side of XLA's own conditionals, which depend on data: of
// each one branch runs, the dearer or the cheaper one.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ir/readers/hlo.h"

namespace evolve::ir {

// The computations that a conditional chooses among; none for another instruction.
std::vector<std::string_view> branches_of(const HloInstruction& instruction);

// The computations that an instruction calls whatever the data are: a loop's, a fusion's.
std::vector<std::string_view> computations_called_by(const HloInstruction& instruction);

// "'while.5' (kernel.py:39)", for people.
std::string named(const HloInstruction& instruction);

// Of all calls of an instruction.
struct CallCost {
  double dearer = 0;  // cycles, where what hangs on data within it goes the dearer way
  double cheaper = 0;
};

struct HloSides {
  std::set<std::string> left_out_of_dearer;  // instructions that no taken branch calls
  std::set<std::string> left_out_of_cheaper;
  // By the instructions in one, whether it is left out or not: the innermost, named.
  std::map<std::string, std::string> conditionals;
  // Those around an instruction with a cost, whose branches cost the same or not; each once, named.
  std::vector<std::string> on_data;
};

// A branch costs what the instructions cost that it calls; of conditionals in it one branch counts.
// The first of branches that cost the same is taken. A conditional in a loop goes the same way in
// each pass.
HloSides sides_of(const HloModule& module, const std::map<std::string, CallCost>& costs);

}  // namespace evolve::ir
