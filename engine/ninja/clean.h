// Tools clean and cleandead: the removal of files that edges made.
#pragma once

#include <string>
#include <vector>

#include "engine/ninja/tools.h"

namespace evolve::ninja {

int clean(const ToolContext& context, const std::vector<std::string>& arguments);
// Removes files that earlier builds made and that the manifest no longer names.
int clean_dead(const ToolContext& context, const std::vector<std::string>& arguments);

}  // namespace evolve::ninja
