// Characters in UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace evolve {

struct Character {
  size_t length = 0;  // in bytes; 0: the text does not begin with a character
  uint32_t code = 0;
};

// Returns the character that a text begins with. REQUIRES: the text is not empty.
inline Character first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {1, first};
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first > 0xf4 || text.size() < length) return {};
  uint32_t code = first & (0x7fU >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    code = code << 6 | (byte & 0x3fU);
  }
  constexpr uint32_t kLeastOf3 = 0x800, kLeastOf4 = 0x10000, kMost = 0x10ffff;
  const bool is_too_long = (length == 3 && code < kLeastOf3) || (length == 4 && code < kLeastOf4);
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (is_too_long || is_surrogate || code > kMost) return {};
  return {length, code};
}

}  // namespace evolve
