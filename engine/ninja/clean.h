// Tool clean: removes what edges made.
#pragma once

#include <string>
#include <vector>

#include "engine/ninja/tools.h"

namespace evolve::ninja {

int clean(const ToolContext& context, const std::vector<std::string>& arguments);

}  // namespace evolve::ninja
