// Capture of a command: its exit code and its output.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/result.h"

namespace evolve::world {

struct Captured {
  int code = 0;  // exit code, or 128 + signal if a signal ended the command
  std::string out, err;
};

// Runs a program to its end; `words` are the program and its arguments. An error: no process could
// be started.
Result<Captured> capture(const std::vector<std::string>& words,
                         const std::map<std::string, std::string>& environment);

}  // namespace evolve::world
