// Commands that have the terminal to themselves, such as an editor.
#pragma once

#include <string>

#include "engine/core/result.h"

namespace evolve::world {

// Runs a shell command line to its end, with this process's own stdin, stdout and stderr. An error:
// the shell could not be started, or it ended with a code other than 0.
Status run_on_console(const std::string& line);

}  // namespace evolve::world
