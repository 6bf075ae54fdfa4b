// A kernel whose control flow hangs on data: how long it takes is told from the cheaper to the
// dearer side of its branches.
//
// Each predicate that hangs on data is assumed to be the same whenever it is made: all false first,
// then each of them true alone, which says which side of it is dearer; last all on their dearer
// sides, and all on their cheaper ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/ir/model/simulator.h"

namespace evolve::ir {

// More predicates that hang on data are not tried.
constexpr size_t kMostDataBranches = 16;

struct DataRange {
  Simulation dearer;
  std::optional<Simulation> cheaper;  // none: nothing hangs on data
  std::vector<std::string> on_data;  // "line 12, on a value of the vector units that line 10 reads"
};

// As simulate(), which an error is of.
Result<DataRange> simulate_range(const Schedule& schedule, const Device& device,
                                 const Parameters& parameters = {});

}  // namespace evolve::ir
