// Functions on text that all readers share.
#pragma once

#include <string_view>

namespace evolve::ir {

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \n\r";
  size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Returns the text after the first `mark`. Empty: there is no mark.
inline std::string_view behind(std::string_view text, std::string_view mark) {
  size_t at = text.find(mark);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + mark.size());
}

}  // namespace evolve::ir
