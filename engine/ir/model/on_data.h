// The range of a kernel's time where its control flow depends on data: from the cheaper to the
// dearer side of its branches.
//
// Each predicate that depends on data is assumed to have the same value whenever it is computed.
// First all predicates are false. Then each predicate is true by itself, which shows its dearer
// side. The last two runs take all dearer sides and all cheaper sides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/ir/model/simulator.h"

namespace evolve::ir {

// The maximum number of predicates that depend on data. The model does not follow a kernel with
// more of them.
constexpr size_t kMostDataBranches = 16;

struct DataRange {
  Simulation dearer;
  std::optional<Simulation> cheaper = {};  // none: nothing depends on data
  std::vector<std::string> on_data =
      {};  // "line 12, on a value of the vector units that line 10 reads"
};

// Returns the results of simulate() for both sides. Errors are those of simulate().
Result<DataRange> simulate_range(const Schedule& schedule, const Device& device,
                                 const Parameters& parameters = {});

}  // namespace evolve::ir
