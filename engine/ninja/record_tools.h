// The tools of `-t` that ask what earlier builds recorded, deps and missingdeps; and those that
// tend ninja's own logs, of which a build by content needs neither, recompact and restat.
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
