// The facts of a program as one HTML page that needs no other file: where the time goes, the
// timeline, what each unit does over the bundles, and what lies in VMEM.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/ir/model/program.h"

namespace evolve::ir {

// Returns the page. `facts` are the facts of `run`, as write_facts gives them. `title` is plain
// text.
std::string write_page(const nlohmann::json& facts, const ProgramRun& run, const Device& device,
                       const std::string& title);

}  // namespace evolve::ir
