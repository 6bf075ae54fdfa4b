// The logs that stock ninja keeps, `.ninja_log` and `.ninja_deps`, for projects that were built by
// it before. Formats: ninja's src/build_log.cc (versions 5 to 7) and src/deps_log.cc (version 4).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace evolve::ninja {

// The last run that wrote an output.
struct LogEntry {
  int64_t seconds_1000 = 0;  // how long it took, in milliseconds
  int64_t mtime = 0;         // of the output, or of the newest input, in nanoseconds
  uint64_t command_hash = 0;
};
using BuildLog = std::unordered_map<std::string, LogEntry>;  // by output

// What a compiler told of an output.
struct LoggedDeps {
  int64_t mtime = 0;  // of the output when it told, in nanoseconds
  std::vector<std::string> inputs;
};
using DepsLog = std::unordered_map<std::string, LoggedDeps>;  // by output

// Reads a log as far as it is whole; lines of another form are left out. Nullopt: it is not a log,
// or of a version that says something else.
std::optional<BuildLog> parse_build_log(std::string_view text);
std::optional<DepsLog> parse_deps_log(std::string_view bytes);

// Whether a log's hash is of that command, by either of the functions that ninja has used:
// MurmurHash64A (A. Appleby, public domain) to 1.12, rapidhash v1 (N. De Carli) from then on.
bool is_hash_of(uint64_t hash, std::string_view command);

}  // namespace evolve::ninja
