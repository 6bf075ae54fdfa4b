// The sandbox, in which a command sees the machine read-only: bubblewrap, with its own namespaces.
#pragma once

#include <map>
#include <span>
#include <string>

#include "engine/core/result.h"

namespace evolve::world {

// Returns the command line that runs `line` in a sandbox: with no network, with only its own
// processes, and with an empty /tmp. The command can write only in the folders `writable`, which
// must exist. The sandbox ends with its caller. An error: the PATH of `environment` has no bwrap.
Result<std::string> sandboxed(const std::string& line, std::span<const std::string> writable,
                              const std::map<std::string, std::string>& environment);

}  // namespace evolve::world
