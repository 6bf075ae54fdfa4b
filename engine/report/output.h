// Output to stdout and stderr. Only this code writes there, apart from the step programs and the
// commands that answer as Ninja does. Characters that a terminal would take for a command are
// escaped, because texts may come from strangers (core/text/plain_text.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/core/result.h"

namespace evolve {

// Prints to stdout, at once.
void print_out(const std::string& text);
// Prints to stderr, at once.
void print_err(const std::string& text);
// Prints a file's content to stdout: byte for byte, unless stdout is a terminal.
void print_file(const std::string& bytes);
// Flushes stdout. It is an error, with its reason, if anything could not be written since the
// start.
Status end_out();

// The beginning of a line on stderr: nothing, a code that clears the present line, or a coloured
// word.
enum class Lead { none, rewind, error, warning };
void print_err(Lead lead, const std::string& text);

// Prints "evolve: error: …", its detail and its hint to stderr.
void print_error(const Error& error, bool color);
void print_warning(const std::string& message, bool color);

// Prints a command's answer: as text, or as JSON.
void print_result(bool is_json, const nlohmann::json& report, const std::string& text);

}  // namespace evolve
