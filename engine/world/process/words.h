// Command lines without a shell, where none is needed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evolve::world {

// Splits a command line into words as /bin/sh would for plain words, quotes and backslashes.
// nullopt where it holds anything that only a shell can do (pipes, variables, globs, …).
std::optional<std::vector<std::string>> split_words(std::string_view line);

// The words of a command that can be executed as they are: as split_words(), and the first one is a
// program, not an assignment, nor a word of the shell's own. nullopt: ask the shell.
std::optional<std::vector<std::string>> plain_command(std::string_view line);

}  // namespace evolve::world
