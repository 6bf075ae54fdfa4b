// The facts of a program as one HTML page that needs no other file: the time by cause, the
// timeline, the work of each unit over the bundles, and the use of VMEM.
#pragma once

#include <string>

#include "engine/ir/facts.h"

namespace evolve {

// Returns the page. `facts` are the facts of `run`. `title` is plain text.
std::string facts_page(const ir::Facts& facts, const ir::ProgramRun& run, const ir::Device& device,
                       const std::string& title);

}  // namespace evolve
