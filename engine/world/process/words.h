// The splitting of command lines into words, for commands that need no shell.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evolve::world {

// Splits a command line into words as /bin/sh would for plain words, quotes and backslashes.
// Nullopt: the line holds something that only a shell can do (pipes, variables, globs, …).
std::optional<std::vector<std::string>> split_words(std::string_view line);

// Returns the words of a command that can be executed without a shell. They are those of
// split_words(), and the first is a program, not an assignment or a word of the shell's own.
// Nullopt: the command needs the shell.
std::optional<std::vector<std::string>> plain_command(std::string_view line);

}  // namespace evolve::world
