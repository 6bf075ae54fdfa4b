// The range of a kernel's time where its control flow depends on data: from the cheaper to the
// dearer side of its branches.
//
// Each predicate that depends on data is assumed to have the same value whenever it is computed.
// First all are false. Then each one by itself is true, which says which of its sides is dearer.
// Last come two runs: all on their dearer sides, and all on their cheaper ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/ir/model/simulator.h"

namespace evolve::ir {

// The most predicates that depend on data; more are not tried.
constexpr size_t kMostDataBranches = 16;

struct DataRange {
  Simulation dearer;
  std::optional<Simulation> cheaper = {};  // none: nothing depends on data
  std::vector<std::string> on_data =
      {};  // "line 12, on a value of the vector units that line 10 reads"
};

// Returns what simulate() gives for both sides. Errors are those of simulate().
Result<DataRange> simulate_range(const Schedule& schedule, const Device& device,
                                 const Parameters& parameters = {});

}  // namespace evolve::ir
