// The tools of `-t` that ask what earlier builds recorded: deps, missingdeps, cleandead; and
// recompact and restat, of which a build by content needs neither.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/ninja/tools.h"

namespace evolve::ninja {

// In nanoseconds since 1970, as ninja's logs have it; 0 where nothing is there.
int64_t modification_time(const std::string& path);

int deps(const ToolContext& context, const std::vector<std::string>& arguments);
int missing_deps(const ToolContext& context, const std::vector<std::string>& arguments);
int recompact(const ToolContext& context, const std::vector<std::string>& arguments);
int restat(const ToolContext& context, const std::vector<std::string>& arguments);

}  // namespace evolve::ninja
