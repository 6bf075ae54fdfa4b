// The logs that stock ninja keeps, `.ninja_log` and `.ninja_deps`, for projects that were built by
// it before, and for builds by its rule of times. Formats: ninja's src/build_log.cc (versions 5 to
// 7) and src/deps_log.cc (version 4).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace evolve::ninja {

// The version that Ninja 1.14 writes.
constexpr int kBuildLogVersion = 7;

// The last run that wrote an output.
struct LogEntry {
  int64_t start = 0;  // in milliseconds since that build began
  int64_t end = 0;
  int64_t mtime = 0;  // when the command started, or of the output, in nanoseconds
  uint64_t command_hash = 0;
};

struct BuildLog {
  int version = kBuildLogVersion;
  std::unordered_map<std::string, LogEntry> entries;  // by output
  // Its end is torn, or most of its lines were superseded: it is to be written anew before anything
  // is appended.
  bool is_stale = false;
};

// What a compiler told of an output.
struct LoggedDeps {
  int64_t mtime = 0;  // of the output when it told, in nanoseconds
  std::vector<std::string> inputs;
};

class DepsLog {
 public:
  // Reads a log as far as it is whole. Nullopt: it is none, or of another version.
  static std::optional<DepsLog> parse(std::string_view bytes);
  // The bytes to append to its file.
  std::string add(const std::string& output, LoggedDeps deps);
  // The whole file; what is added from then on belongs behind it.
  std::string encode();
  // Null: nothing is known of the output.
  [[nodiscard]] const LoggedDeps* find(const std::string& output) const;
  [[nodiscard]] const std::unordered_map<std::string, LoggedDeps>& by_output() const {
    return by_output_;
  }
  // As for a build log.
  [[nodiscard]] bool is_stale() const { return is_stale_; }

 private:
  bool add_record(std::string_view record, bool is_deps);
  uint32_t number_of(const std::string& path, std::string& bytes);

  std::vector<std::string> paths_;  // by the number that the log gives them
  std::unordered_map<std::string, uint32_t> numbers_;
  std::unordered_map<std::string, LoggedDeps> by_output_;
  bool is_stale_ = false;
};

// The version that a build log says it is of; 0: it is none.
int build_log_version(std::string_view text);
// Reads a log as far as it is whole; lines of another form are left out. Nullopt: it is not a log,
// or of a version that says something else.
std::optional<BuildLog> parse_build_log(std::string_view text);
std::string encode(const BuildLog& log);
std::string line_of(const std::string& output, const LogEntry& entry);

// A command's hash in a log of that version: MurmurHash64A (A. Appleby, public domain) to 6,
// rapidhash v1 (N. De Carli) from then on.
uint64_t command_hash(int version, std::string_view command);
// Whether it is of that command, in whatever version: older ninjas append to newer logs.
bool is_hash_of(uint64_t hash, std::string_view command);

}  // namespace evolve::ninja
