// Paths as Ninja writes them: canonical in the graph, quoted in commands.
#pragma once

#include <string>
#include <string_view>

namespace evolve {

// True where canonical_path would return `path` itself; a false "false" costs time alone.
bool is_canonical(std::string_view path);

// Returns `path` without "." parts, doubled and trailing slashes and resolvable ".." parts, by
// Ninja's rules: "a/../b" is "b", "../a" and "/../a" stay, "a/.." is ".", "" stays.
std::string canonical_path(std::string_view path);

// Whether `path` stays below the folder that it is taken from: it is relative, and no part of it
// leads out.
bool is_below(std::string_view path);

// Whether `path` means itself in a manifest and, unquoted, in a command: it has ASCII letters and
// digits, "_-./+,@" and what is beyond ASCII and no control, and does not begin with '-'.
bool is_plain_path(std::string_view path);

// Whether `text` is one word of a manifest and of a command, unquoted: ASCII letters, digits and
// "_-./+,@:".
bool is_plain_word(std::string_view text);

// Appends `path` to `out`, quoted for /bin/sh where it holds anything but letters, digits and
// "_+-./" (Ninja's set: commands must come out the same).
void append_shell_quoted(std::string_view path, std::string& out);

}  // namespace evolve
