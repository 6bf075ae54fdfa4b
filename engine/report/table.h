// Tables of text, as wide as the terminal that they are printed on.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace evolve {

using Rows = std::vector<std::vector<std::string>>;

// Lines of cells as columns, two blanks between them. Where stdout is a terminal, cells that are
// too long for it go on in further lines, so that every line fits; elsewhere every row is one line.
std::string table(const Rows& rows, const std::string& indent);

// The same for a width of `columns`; 0: there is no limit. No column becomes narrower than 12.
std::string table(const Rows& rows, const std::string& indent, size_t columns);

}  // namespace evolve
