// Python programs of rules/ that a command runs directly and not as an edge, with the interpreter
// of the steps.
#pragma once

#include <string>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

// Runs a program of rules/ ("traces.xplane": PACKAGE.MODULE) with the arguments `words`, and
// returns its stdout. Exit code 2 is bad input: the last line of stderr has the module's name and
// then the fault in the input. Any other failure is external.
Result<std::string> run_python(const std::string& program, const std::vector<std::string>& words);

}  // namespace evolve
