// Escaping of text for HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace evolve {

// Returns the text as the content of an element or of an attribute in double quotes. Control
// characters that XML 1.0 does not allow, and bytes that are not UTF-8, become '?'.
std::string escaped_markup(std::string_view text);

}  // namespace evolve
