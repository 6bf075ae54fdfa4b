// Child processes for work on the output of a candidate. An early end of such a process (at a limit
// of memory or time, or by a bug of ours) is reported. So the early end becomes the candidate's
// verdict and not a failed edge.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/core/result.h"

namespace evolve::steps {

// The limits of a child process, far above the needs of any kernel so far.
struct ChildLimits {
  uint64_t memory_bytes = uint64_t{8} << 30;
  uint64_t cpu_seconds = 600;
};

// Runs `work` in a child process. An error of `work` is returned as it is. Nullopt: `work` came to
// an end. Otherwise the text says why `work` did not come to an end, for a report's "reason".
Result<std::optional<std::string>> in_child(const std::function<Status()>& work,
                                            const ChildLimits& limits = {});

}  // namespace evolve::steps
