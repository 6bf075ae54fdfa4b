// The facts of a program as one HTML page that needs no other file: where the time goes, the
// timeline, what each unit does over the bundles, and what lies in VMEM.
#pragma once

#include <string>

#include "engine/ir/facts.h"

namespace evolve {

// Returns the page. `facts` are the facts of `run`. `title` is plain text.
std::string facts_page(const ir::Facts& facts, const ir::ProgramRun& run, const ir::Device& device,
                       const std::string& title);

}  // namespace evolve
