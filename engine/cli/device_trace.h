// What a device did, by the traces that JAX's profiler wrote there: rules/steps/xplane.py reads
// them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/core/result.h"

namespace evolve::cli {

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

// Prints the report on the traces, for people or as JSON. An error of code `failed` where the
// report was printed and says that the trace cannot be believed, or is not of what was asked for.
Status run_analyze_traces(const std::vector<std::string>& traces, const TraceQuestion& question,
                          bool json);

// The report for people.
std::string device_trace_text(const nlohmann::json& report);

}  // namespace evolve::cli
