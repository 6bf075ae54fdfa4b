// This machine: its cores, memory, processor and names, and the user's editor.
#pragma once

#include <string>

#include "engine/graph/extensions.h"

namespace evolve {

// Returns the number of cores that this process may run on; at least 1.
int usable_cores();

// Returns an environment variable of this process; empty: not set.
std::string variable(const char* name);

// Returns the command line that opens a file in the person's editor: $VISUAL, $EDITOR or vi, as in
// git.
std::string editor_line(const std::string& file);

// Returns this machine's own name, for records.
std::string machine_name();

// Returns the device kind of this processor, in one plain word: "cpu:AMD-EPYC-9B45".
// rules/steps/measure.py makes the same word.
std::string cpu_kind();

// Returns the least memory limit of this process's control group and of the groups around it, in
// bytes; infinity: none has a limit. `groups_file`: as /proc/self/cgroup. `root`: the folder of all
// groups (cgroup v2).
double memory_limit(const std::string& groups_file, const std::string& root);

// Returns the resources that all running commands share: `given`, and `memory` in any case. If
// `given` has no memory, the value is the machine's memory, or the limit of the control groups if
// that limit is less.
Resources with_memory(Resources given);

}  // namespace evolve
