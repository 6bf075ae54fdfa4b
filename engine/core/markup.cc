#include "engine/core/markup.h"

#include <algorithm>
#include <cstdint>

namespace evolve {

namespace {

// The length of the character in UTF-8 that `text` begins with; 0 where it begins with none, or
// with one that XML does not have.
size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return first >= ' ' || first == '\t' || first == '\n' || first == '\r' ? 1 : 0;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first > 0xf4 || text.size() < length) return 0;
  uint32_t code = first & (0x7fU >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte & 0x3fU);
  }
  constexpr uint32_t kLeastOf3 = 0x800, kLeastOf4 = 0x10000, kMost = 0x10ffff;
  const bool is_too_long = (length == 3 && code < kLeastOf3) || (length == 4 && code < kLeastOf4);
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool is_no_character = code == 0xfffe || code == 0xffff || code > kMost;
  return is_too_long || is_surrogate || is_no_character ? 0 : length;
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
