// This machine: its cores, memory, processor and names, and the user's editor.
#pragma once

#include <string>

#include "engine/graph/extensions.h"

namespace evolve {

// Returns the number of cores that this process may run on; at least 1.
int usable_cores();

// Returns an environment variable of this process; empty: not set.
std::string variable(const char* name);

// Returns the command line that opens a file in the person's editor: $VISUAL, $EDITOR or vi, as git
// has it.
std::string editor_line(const std::string& file);

// Returns the name that this machine gives itself, for records.
std::string machine_name();

// Returns the processor as a device, one plain word: "cpu:AMD-EPYC-9B45". rules/steps/measure.py
// makes the same word.
std::string cpu_kind();

// Returns the resources that all running commands share: those that are given, and `memory`. If
// `given` has no memory, it is the machine's memory, or its control group's limit if that is less.
Resources with_memory(Resources given);

}  // namespace evolve
