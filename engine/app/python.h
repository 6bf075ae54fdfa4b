// Programs of rules/ that a command runs by itself, with the interpreter of the steps.
#pragma once

#include <string>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

// Runs rules/SCRIPT with these words, and returns its stdout. A program that ends with 2 says in a
// line of stderr, after its own name, what is wrong with what it was given: that is bad input. Any
// other failure is external.
Result<std::string> run_python(const std::string& script, const std::vector<std::string>& words);

}  // namespace evolve
