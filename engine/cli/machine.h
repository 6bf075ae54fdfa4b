// What this machine has for commands to use.
#pragma once

#include "engine/core/extensions.h"

namespace evolve::cli {

// At least one; those that this process may run on.
int usable_cores();

// What running commands may need together: what was given, and the machine's memory (or its control
// group's limit) where that does not say.
Resources with_memory(Resources given);

}  // namespace evolve::cli
