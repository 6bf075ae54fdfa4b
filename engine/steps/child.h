// Work on what a candidate made, in a process of its own: whatever takes that process down (a size,
// a time, a mistake of ours) is told, so that it becomes the candidate's verdict and no failed
// edge.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/core/result.h"

namespace evolve::steps {

// Far more than any kernel has needed.
struct ChildLimits {
  uint64_t memory_bytes = uint64_t{8} << 30;
  uint64_t cpu_seconds = 600;
};

// Runs `work` to its end: its error is returned as it is. Or else why it did not come to an end,
// for a report's "reason".
Result<std::optional<std::string>> in_child(const std::function<Status()>& work,
                                            const ChildLimits& limits = {});

}  // namespace evolve::steps
