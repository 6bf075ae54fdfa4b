// The logs that stock ninja keeps: `.ninja_log` and `.ninja_deps`. evolve reads them in a folder
// that stock ninja built, and keeps them in builds by Ninja's rule of times. Formats: ninja's
// src/build_log.cc (versions 5 to 7) and src/deps_log.cc (version 4).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace evolve::ninja {

// The version of the build log that Ninja 1.14 writes.
constexpr int kBuildLogVersion = 7;

// The last run that wrote an output.
struct LogEntry {
  int64_t start = 0;  // in milliseconds since that build began
  int64_t end = 0;
  int64_t mtime = 0;  // nanoseconds: the command's start, or the output's time
  uint64_t command_hash = 0;
};

struct BuildLog {
  int version = kBuildLogVersion;
  std::unordered_map<std::string, LogEntry> entries;  // by output
  // Whether the log's end is torn, or most of its lines were superseded. A stale log must be
  // written again before an entry is appended.
  bool is_stale = false;
};

// The inputs that a compiler reported for an output.
struct LoggedDeps {
  int64_t mtime = 0;  // nanoseconds: the output's time at that report
  std::vector<std::string> inputs;
};

class DepsLog {
 public:
  // Reads a log as far as it is whole. Nullopt: the bytes are not a deps log, or the log has
  // another version.
  static std::optional<DepsLog> parse(std::string_view bytes);
  // Adds an entry. Returns the bytes to append to the log's file.
  std::string add(const std::string& output, LoggedDeps deps);
  // Returns the whole file. Bytes that add() returns from then on are appended to it.
  std::string encode();
  // Returns the inputs of an output. Null: the log does not have the output.
  [[nodiscard]] const LoggedDeps* find(const std::string& output) const;
  [[nodiscard]] const std::unordered_map<std::string, LoggedDeps>& by_output() const {
    return by_output_;
  }
  // The same as BuildLog::is_stale.
  [[nodiscard]] bool is_stale() const { return is_stale_; }

 private:
  bool add_record(std::string_view record, bool is_deps);
  uint32_t number_of(const std::string& path, std::string& bytes);

  std::vector<std::string> paths_;  // by the number that the log gives them
  std::unordered_map<std::string, uint32_t> numbers_;
  std::unordered_map<std::string, LoggedDeps> by_output_;
  bool is_stale_ = false;
};

// Returns the version that a build log states; 0: the text is not a build log.
int build_log_version(std::string_view text);
// Reads a log as far as it is whole; lines of another form are left out. Nullopt: the text is not a
// build log, or the log has a version below 5 or above 7.
std::optional<BuildLog> parse_build_log(std::string_view text);
std::string encode(const BuildLog& log);
std::string line_of(const std::string& output, const LogEntry& entry);

// Returns a command's hash in a log of that version: MurmurHash64A (A. Appleby, public domain) up
// to version 6, and rapidhash v1 (N. De Carli) from 7 on.
uint64_t command_hash(int version, std::string_view command);
// Whether the hash is the command's in any version, because older ninjas append to newer logs.
bool is_hash_of(uint64_t hash, std::string_view command);

}  // namespace evolve::ninja
