// What candidates, people and other machines wrote, as a terminal may show it. Control characters
// (C0 and C1), marks that turn the direction of writing, and what is no UTF-8 are orders to a
// terminal or lies to a reader, and never stand in what is printed. rules/steps/verdict.py does the
// same for reasons.
#pragma once

#include <string>
#include <string_view>

namespace evolve {

// Lines as they are: newlines and tabs stay, all else that is not plain becomes "\u009b", which in
// JSON stands for the same character; a byte that is no UTF-8 becomes "\ufffd".
std::string plain_text(std::string_view text);

// For a cell, or a part of a line: newlines and tabs are no more plain than the others.
std::string plain_line(std::string_view text);

// Whether plain_line() would leave it as it is.
bool is_plain_line(std::string_view text);

// The text in one line of at most so many bytes: what is not plain, and blanks, become one blank.
std::string one_line(std::string_view text, size_t most_bytes);

}  // namespace evolve
