// A command that sees the machine read-only: by bubblewrap, in namespaces of its own.
#pragma once

#include <map>
#include <span>
#include <string>

#include "engine/core/result.h"

namespace evolve::world {

// The command line that runs `line` in a sandbox: no network, no processes but its own, an empty
// /tmp, and of all folders only `writable`, which are there, can be written in. It ends with its
// caller. An error where the PATH of `environment` has no bwrap.
Result<std::string> sandboxed(const std::string& line, std::span<const std::string> writable,
                              const std::map<std::string, std::string>& environment);

}  // namespace evolve::world
