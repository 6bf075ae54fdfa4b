// Words of a text: its parts between blanks and line ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/text/lines.h"

namespace evolve {

inline std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> out;
  while (!(text = without_blanks(text)).empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
    out.emplace_back(word);
    text.remove_prefix(word.size());
  }
  return out;
}

}  // namespace evolve
