#include "engine/core/text/markup.h"

#include <algorithm>

#include "engine/core/text/characters.h"

namespace evolve {

namespace {

// Returns the length of the character that `text` begins with. 0: there is no character, or XML
// does not allow the character.
size_t character_length(std::string_view text) {
  const auto [length, code] = first_character(text);
  const bool is_control = code < ' ' && code != '\t' && code != '\n' && code != '\r';
  const bool is_no_character = code == 0xfffe || code == 0xffff;
  return is_control || is_no_character ? 0 : length;
}

}  // namespace

std::string escaped_markup(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = character_length(text);
    switch (text.front()) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: length == 0 ? out += '?' : out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

}  // namespace evolve
