// What evolve prints. The only place that writes to stdout and stderr, apart from the commands that
// answer as Ninja does: nothing that a terminal takes for an order gets through, whoever wrote it
// (core/plain_text.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/core/result.h"

namespace evolve {

// Prints to stdout, at once.
void print_out(const std::string& text);
// Prints to stderr, at once.
void print_err(const std::string& text);
// A file's content as stdout is asked for it: byte by byte, unless stdout is a terminal.
void print_file(const std::string& bytes);

// How a line on stderr begins: in place of the one before, or in colour.
enum class Lead { none, rewind, error, warning };
void print_err(Lead lead, const std::string& text);

// Prints "evolve: error: …", its detail and its hint to stderr.
void print_error(const Error& error, bool color);
void print_warning(const std::string& message, bool color);

// Prints a command's answer: as text, or as JSON.
void print_result(bool is_json, const nlohmann::json& report, const std::string& text);

}  // namespace evolve
