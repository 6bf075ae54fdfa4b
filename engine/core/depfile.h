// Depfiles in Makefile syntax ("out: in in …"), as compilers and our steps write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

// Returns the inputs of all rules in the text, canonicalised, in order, each once. `path` is for
// messages.
Result<std::vector<std::string>> parse_depfile(std::string_view text, const std::string& path);

}  // namespace evolve
