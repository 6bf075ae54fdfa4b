// Tools compdb and compdb-targets: the compilation database that clangd and clang-tidy read.
#pragma once

#include <string>
#include <vector>

#include "engine/ninja/tools.h"

namespace evolve::ninja {

int compdb(const ToolContext& context, const std::vector<std::string>& arguments);
int compdb_targets(const ToolContext& context, const std::vector<std::string>& arguments);

}  // namespace evolve::ninja
