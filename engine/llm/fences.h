// Fenced code blocks, as in Markdown (CommonMark 0.31, section 4.5).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evolve::llm {

struct FencedBlock {
  std::string language;   // the info string's first word, in lower case; may be empty
  std::string text = {};  // its lines, each with a newline, without the fence's own indentation
  bool is_closed = true;
};

std::vector<FencedBlock> fenced_blocks(std::string_view text);

// Returns the text in a fence that is longer than any run of backticks in the text, so that the
// text cannot close the fence.
std::string fenced(std::string_view text, std::string_view language);

}  // namespace evolve::llm
