// Paths as Ninja writes them: canonical in the graph, quoted in commands.
#pragma once

#include <string>
#include <string_view>

namespace evolve {

// Whether canonical_path() would return `path` unchanged. A wrong "false" only costs time.
bool is_canonical(std::string_view path);

// Returns `path` without "." parts, doubled and trailing slashes, and ".." parts that can be
// resolved. The rules are Ninja's: "a/../b" is "b", "../a" and "/../a" stay, "a/.." is ".", ""
// stays.
std::string canonical_path(std::string_view path);

// Returns the folder of `path`: the text before the last slash, "/" for "/x", "." where there is no
// slash. `path` names a file: it does not end with a slash.
std::string folder_of(std::string_view path);

// Returns what stands before the name of the file in `path`: "a/b/" for "a/b/c", nothing for "c".
std::string folder_prefix(std::string_view path);

// Whether `path` is relative and stays below the folder that it starts from.
bool is_below(std::string_view path);

// Whether `path` needs no escapes in a manifest and no quotes in a command. A plain path consists
// of ASCII letters and digits, "_-./+,@" and plain characters that are not ASCII (plain_text.h),
// and does not begin with '-'.
bool is_plain_path(std::string_view path);

// Whether `text` is one word without quotes, both in a manifest and in a command. A plain word
// consists of ASCII letters, digits and "_-./+,@:".
bool is_plain_word(std::string_view text);

// Appends `path` to `out`. Quotes it for /bin/sh if it holds anything but letters, digits and
// "_+-./". The set is Ninja's, because commands must be the same as Ninja's.
void append_shell_quoted(std::string_view path, std::string& out);

}  // namespace evolve
