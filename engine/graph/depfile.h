// Depfiles in Makefile syntax ("out: in in …"), as compilers and our steps write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

// What the rules of a text say, all together: canonical paths, in order, each once. What is empty
// behind its colon, as compilers write it for headers that may be gone, is no output.
struct Depfile {
  std::vector<std::string> outputs;
  std::vector<std::string> inputs;
};

// Bad input, in Ninja's words and without the file's name: nothing is made, or a rule says of what
// else an input is made.
Result<Depfile> parse_depfile(std::string_view text);

// The rule that is read so, from an output to inputs. A path that ends with a backslash cannot be
// said.
std::string depfile_text(const std::string& output, const std::vector<std::string>& inputs);

// What MSVC's /showIncludes says among a command's output.
struct ShownIncludes {
  std::vector<std::string> inputs;  // canonical, sorted, each once; system headers left out
  std::string output;               // the rest of what was printed
};

// `prefix` opens a line that names a header; empty: the English compiler's.
ShownIncludes parse_show_includes(std::string_view output, std::string_view prefix);

}  // namespace evolve
