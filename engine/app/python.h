// Python programs of rules/ that a command itself runs, with the interpreter of the steps.
#pragma once

#include <string>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

// Runs rules/SCRIPT with the arguments `words`, and returns its stdout. Exit code 2 is bad input:
// the last line of stderr says, after the program's name, what is wrong with what it was given. Any
// other failure is external.
Result<std::string> run_python(const std::string& script, const std::vector<std::string>& words);

}  // namespace evolve
