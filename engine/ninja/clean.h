// Tools clean and cleandead: the removal of what edges made.
#pragma once

#include <string>
#include <vector>

#include "engine/ninja/tools.h"

namespace evolve::ninja {

int clean(const ToolContext& context, const std::vector<std::string>& arguments);
// Removes what earlier builds made and the manifest no longer names.
int clean_dead(const ToolContext& context, const std::vector<std::string>& arguments);

}  // namespace evolve::ninja
