// Ninja's two logs on disk, which are read once, and to which builds append.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "engine/core/ports.h"
#include "engine/graph/graph.h"
#include "engine/ninja/ninja_logs.h"

namespace evolve::ninja {

// Returns a file's time of modification in nanoseconds since 1970, as in the logs; 0: no file.
int64_t modification_time(const std::string& path);

class LogFiles {
 public:
  LogFiles(Files& files, std::string_view builddir);
  LogFiles(Files& files, const Graph& graph)
      : LogFiles(files, graph.root_scope().get("builddir")) {}

  // Reads the logs that exist. False: there is no build log of a known version. Warns about a log
  // of another version.
  bool load();
  [[nodiscard]] const BuildLog& log() const { return log_; }
  [[nodiscard]] const DepsLog& deps_log() const { return deps_log_; }
  // Returns the entry of an output. Null: the log has no entry.
  [[nodiscard]] const LogEntry* entry(const std::string& output) const;
  [[nodiscard]] const LoggedDeps* deps(const std::string& output) const {
    return deps_log_.find(output);
  }

  // Both functions take effect in memory at once, and on disk with the next flush().
  void add(const std::string& output, const LogEntry& entry);
  void add(const std::string& output, LoggedDeps deps);
  Status flush();
  // Writes both logs again, without superseded entries.
  Status rewrite();

 private:
  // The file of a log, to which entries are appended.
  struct Appended {
    std::string path;
    bool is_there = false;  // the file is whole and has the version to append
    std::string unwritten;
    std::ofstream out;
  };
  static Status append(Appended& file);

  Files& files_;
  std::string folder_;
  Appended build_, deps_;
  BuildLog log_;
  DepsLog deps_log_;
};

}  // namespace evolve::ninja
