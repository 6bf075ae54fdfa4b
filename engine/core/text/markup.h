// Escaping of text for HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace evolve {

// Returns the text as the content of an element or of an attribute in double quotes. What XML 1.0
// cannot hold becomes '?': control characters, and bytes that are not UTF-8.
std::string escaped_markup(std::string_view text);

}  // namespace evolve
