// `evolve ninja …`, and a binary called `ninja`: Ninja's command line over this engine.
#pragma once

#include <string>
#include <vector>

namespace evolve::cli {

// Runs Ninja's command line with the words after the name, and returns the exit code.
int run_ninja(const std::vector<std::string>& arguments);

}  // namespace evolve::cli
