// Fenced code, as Markdown has it (CommonMark 0.31, section 4.5).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evolve::llm {

struct FencedBlock {
  std::string language;  // the info string's first word, in small letters; may be empty
  std::string text;      // its lines, each with a newline, without the fence's own indentation
  bool is_closed = true;
};

std::vector<FencedBlock> fenced_blocks(std::string_view text);

// The text in a fence that nothing in it can close: longer than any run of backticks there.
std::string fenced(std::string_view text, std::string_view language);

}  // namespace evolve::llm
