// The decoder of base64 (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace evolve {

// Decodes a text. Blanks and line ends are ignored. Nullopt: the text is not complete base64.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace evolve
