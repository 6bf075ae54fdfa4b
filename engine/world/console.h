// A command that has the terminal to itself, as an editor.
#pragma once

#include <string>

#include "engine/core/result.h"

namespace evolve::world {

// Runs a shell's command line to its end, with this process' own stdin, stdout and stderr. An
// error: it could not be started, or ended with another code than 0.
Status run_on_console(const std::string& line);

}  // namespace evolve::world
