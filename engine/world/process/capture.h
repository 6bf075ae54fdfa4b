// A command that is run for what it prints.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/result.h"

namespace evolve::world {

struct Captured {
  int code = 0;  // its exit code; 128 + signal where a signal ended it
  std::string out, err;
};

// Runs a program with its arguments to its end. An error: it could not be started.
Result<Captured> capture(const std::vector<std::string>& words,
                         const std::map<std::string, std::string>& environment);

}  // namespace evolve::world
