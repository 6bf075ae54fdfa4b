// The lines at the very top of a file that a person writes, each "# evolve: KEY: VALUE": what they
// say beside the file's text.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace evolve::search {

// Takes a line's key and value, without blanks around them; bad input where it is not known.
using TakeHeading = std::function<Status(std::string_view key, std::string_view value)>;
// Takes the lines off the text's top, and gives their number. Bad input: what `take` says, with the
// line's number.
Result<size_t> take_heading(std::string_view& text, const TakeHeading& take);
// A line that is read so, with its end; of `value` so much as a note may be.
std::string heading_line(std::string_view key, std::string_view value);

}  // namespace evolve::search
