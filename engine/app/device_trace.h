// Device traces: JAX's profiler records the work of a device in them. rules/traces/xplane.py reads
// them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

// The program that is asked for, and facts about its runs that the user knows.
struct TraceQuestion {
  std::string module;  // the only wanted module: "jit_f", "jit_f(FINGERPRINT)"; empty: all
  int runs = 0;        // executions on each device; 0: not known
  double floor = 0;    // seconds; no execution can be shorter
};

// Returns the traces that a path names: the path itself if it is a *.xplane.pb file, or else the
// traces in the folder, in its subfolders, or in its plugins/profile/TIME. Empty: the path has no
// trace, or the folder has schedules, which means that it is a folder of dumps.
std::vector<std::string> find_traces(const std::string& path);

// Returns the report of rules/traces/xplane.py on the traces. A `verdict` other than "ok" says that
// the traces cannot be believed, or are not of the program that was asked for. `reason` says why.
Result<nlohmann::json> read_traces(const std::vector<std::string>& traces,
                                   const TraceQuestion& question);

}  // namespace evolve
