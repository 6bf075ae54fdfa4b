// What a device did, by the traces that JAX's profiler wrote there: rules/steps/xplane.py reads
// them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

// What is known of the programs that ran.
struct TraceQuestion {
  std::string module;  // only this one: "jit_f", "jit_f(FINGERPRINT)"; empty: all
  int runs = 0;        // executions on each device; 0: not known
  double floor = 0;    // seconds below which none can be
};

// The traces that a path means: itself, where it is a *.xplane.pb, or those in a folder, in its
// folders, or in its plugins/profile/TIME. None where schedules lie in the folder: then it is one
// of dumps.
std::vector<std::string> find_traces(const std::string& path);

// The report on the traces, by rules/steps/xplane.py. Its `verdict` other than "ok" says that the
// traces cannot be believed, or are not of what was asked for, and `reason` why.
Result<nlohmann::json> read_traces(const std::vector<std::string>& traces,
                                   const TraceQuestion& question);

}  // namespace evolve
