// Child processes for work on what a candidate made. Whatever ends such a process early (a size, a
// time, a bug of ours) is reported, so that it becomes the candidate's verdict and not a failed
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

// Runs `work` in a child process. An error of `work` is returned as it is. Nullopt: `work` came to
// an end. Otherwise: why it did not, for a report's "reason".
Result<std::optional<std::string>> in_child(const std::function<Status()>& work,
                                            const ChildLimits& limits = {});

}  // namespace evolve::steps
