// What this machine has for commands to use.
#pragma once

#include <string>

#include "engine/graph/extensions.h"

namespace evolve {

// At least one; those that this process may run on.
int usable_cores();

// A variable of this process; empty: it is not set.
std::string variable(const char* name);

// The command line that opens a file in the person's editor ($VISUAL, $EDITOR, or vi), as git has
// it.
std::string editor_line(const std::string& file);

// The name that this machine gives itself, for records.
std::string machine_name();

// The processor as a device, one plain word: "cpu:AMD-EPYC-9B45". rules/steps/measure.py reads the
// same.
std::string cpu_kind();

// What running commands may need together: what was given, and the machine's memory (or its control
// group's limit) where that does not say.
Resources with_memory(Resources given);

}  // namespace evolve
