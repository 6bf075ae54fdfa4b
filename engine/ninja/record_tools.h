// Tools on records of earlier builds: deps and missingdeps, which show them, and recompact and
// restat, which maintain ninja's own logs. A build by content needs neither of the last two.
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
