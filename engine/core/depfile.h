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

// The rule that is read so, from an output to inputs.
std::string depfile_text(const std::string& output, const std::vector<std::string>& inputs);

// What MSVC's /showIncludes says among a command's output.
struct ShownIncludes {
  std::vector<std::string> inputs;  // canonical, sorted, each once; system headers left out
  std::string output;               // the rest of what was printed
};

// `prefix` opens a line that names a header; empty: the English compiler's.
ShownIncludes parse_show_includes(std::string_view output, std::string_view prefix);

}  // namespace evolve
