// Tables of text, as wide as the terminal that they are printed on.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace evolve {

using Rows = std::vector<std::vector<std::string>>;

// Returns rows as lines of columns, two blanks apart. If stdout is a terminal, cells that are too
// long for the terminal continue on further lines, so that every line fits; else every row is one
// line.
std::string table(const Rows& rows, const std::string& indent);

// Does the same for a width of `columns`; 0: no limit. No column is narrowed below 12 characters.
std::string table(const Rows& rows, const std::string& indent, size_t columns);

}  // namespace evolve
