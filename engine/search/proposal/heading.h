// The heading of a file that a person writes: lines "# evolve: KEY: VALUE" at its very top, which
// say something about the text below.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace evolve::search {

// Takes a line's key and value, without blanks around them. Bad input: the key is unknown.
using TakeHeading = std::function<Status(std::string_view key, std::string_view value)>;
// Removes the heading from the text's top, and returns the number of its lines. Bad input: an error
// of `take`, with the line's number.
Result<size_t> take_heading(std::string_view& text, const TakeHeading& take);
// Returns a line of a heading, with its newline. `value` is cut to the length of a note.
std::string heading_line(std::string_view key, std::string_view value);

}  // namespace evolve::search
