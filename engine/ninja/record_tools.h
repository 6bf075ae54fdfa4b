// The tools of `-t` that ask what earlier builds recorded: deps, missingdeps, cleandead; and
// recompact and restat, of which a build by content needs neither.
#pragma once

#include <string>
#include <vector>

#include "engine/ninja/tools.h"

namespace evolve::ninja {

int deps(const ToolContext& context, const std::vector<std::string>& arguments);
int missing_deps(const ToolContext& context, const std::vector<std::string>& arguments);
int recompact(const ToolContext& context, const std::vector<std::string>& arguments);
int restat(const ToolContext& context, const std::vector<std::string>& arguments);

}  // namespace evolve::ninja
