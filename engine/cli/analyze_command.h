// `evolve analyze`: what the model makes of dumps, whoever had them written, and what a device did
// by its traces.
#pragma once

#include <string>
#include <vector>

#include "engine/cli/device_trace.h"
#include "engine/core/result.h"

namespace evolve::cli {

struct AnalyzeCommand {
  // A folder of dumps, the compile step's archive, or dumps; or traces, or folders of such.
  std::vector<std::string> paths;
  std::string device = "tpu7x";
  std::string constants;             // a file of the model's constants; empty: the device's
  std::string operands;              // a JSON file, see engine/ir/operands.h; empty: none
  std::vector<std::string> operand;  // "0=sizes.npy": one by its number
  std::string html;                  // file for a page about the one program; empty: none
  std::string kernel;                // only the program that has this one; empty: all
  double flops = 0;                  // of the spec; 0: not known
  double bytes = 0;
  TraceQuestion trace;
};

// Prints the facts of each program among the dumps, or what the traces say, for people or as JSON.
Status run_analyze(const AnalyzeCommand& command, bool json);

// Prints what changed from the first of two paths to the second: each has one program's dumps, or
// is a file of facts ("facts.json").
Status run_analyze_diff(const AnalyzeCommand& command, bool json);

}  // namespace evolve::cli
