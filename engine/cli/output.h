// What evolve prints. The only place that writes to stdout and stderr, apart from the commands that
// answer as Ninja does: nothing that a terminal takes for an order gets through, whoever wrote it
// (core/plain_text.h).
#pragma once

#include <string>

namespace evolve::cli {

// Prints to stdout, at once.
void print_out(const std::string& text);
// Prints to stderr, at once.
void print_err(const std::string& text);
// A file's content as stdout is asked for it: byte by byte, unless stdout is a terminal.
void print_file(const std::string& bytes);

// How a line on stderr begins: in place of the one before, or in colour.
enum class Lead { none, rewind, error, warning };
void print_err(Lead lead, const std::string& text);

}  // namespace evolve::cli
