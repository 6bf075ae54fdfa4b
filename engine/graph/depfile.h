// Depfiles in Makefile syntax ("out: in in …"), as compilers and our steps write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

// All rules of a depfile together: canonical paths, in order, each once. If a rule has no inputs
// and its output is already an input, the rule is ignored. Compilers write these rules for headers
// that may be gone.
struct Depfile {
  std::vector<std::string> outputs;
  std::vector<std::string> inputs;
};

// Parses a depfile. Bad input: the text is not blank but has no colon, or a rule gives inputs to a
// path that is itself an input. The message is Ninja's, and does not name the file.
Result<Depfile> parse_depfile(std::string_view text);

// Returns a depfile with one rule, which parse_depfile() reads back. It cannot read back a path
// with a tab, a carriage return or "\:", or an input that ends with a backslash or a colon.
std::string depfile_text(const std::string& output, const std::vector<std::string>& inputs);

// The headers that MSVC's /showIncludes lists in a command's output, and the rest of that output.
struct ShownIncludes {
  std::vector<std::string> inputs;  // canonical, sorted, each once; system headers left out
  std::string output;               // the rest of the command's output
};

// Separates the listed headers from the rest of a command's output. `prefix` begins each line that
// names a header; empty: the prefix of the English compiler.
ShownIncludes parse_show_includes(std::string_view output, std::string_view prefix);

}  // namespace evolve
