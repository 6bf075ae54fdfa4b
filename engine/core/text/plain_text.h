// Plain text: the form in which a terminal may show text of candidates, people and other machines.
// Control characters (C0 and C1), marks that change the direction of writing, and bytes that are
// not UTF-8 are never printed, because they can control a terminal or deceive a reader.
// rules/reports/verdict.py does the same for reasons.
#pragma once

#include <string>
#include <string_view>

namespace evolve {

// Returns text of several lines as plain text. Newlines and tabs stay. Every other character that
// is not plain becomes an escape such as "\u009b", which JSON reads as the same character. A byte
// that is not UTF-8 becomes "\ufffd".
std::string plain_text(std::string_view text);

// Returns plain text for a cell or a part of a line. Newlines and tabs are replaced, too.
std::string plain_line(std::string_view text);

// Whether plain_line() would leave the text unchanged.
bool is_plain_line(std::string_view text);

// Returns the text in one line of at most `most_bytes` bytes. A run of blanks, and of characters
// that are not plain, becomes one blank.
std::string one_line(std::string_view text, size_t most_bytes);

}  // namespace evolve
