// Archives; the only code that includes libarchive.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "engine/core/result.h"

namespace evolve::world {

// A regular file in an archive.
struct ArchivedFile {
  std::string name;
  std::string bytes;
  bool is_executable = false;
};

// Writes a tar archive, compressed with zstd, of the files that `next` gives until it gives none:
// the same files are the same bytes. `path` is replaced.
Status write_archive(const std::string& path,
                     const std::function<Result<std::optional<ArchivedFile>>()>& next);

struct ArchiveLimits {
  size_t file_bytes = 0;  // of one file
  size_t bytes = 0;       // of all
};

// Calls `visit` for each file of a tar archive, compressed with gzip or zstd or not, in order,
// until it fails. Refuses larger files before it holds them (bad input), and entries that are no
// regular files (external, as what cannot be read).
Status read_archive(const std::string& path, const ArchiveLimits& limits,
                    const std::function<Status(ArchivedFile)>& visit);

// The files by name; folders among them are left out.
Result<std::map<std::string, std::string>> read_archive(const std::string& path, size_t most_bytes);

}  // namespace evolve::world
