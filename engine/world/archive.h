// Tar archives; the only code that includes libarchive.
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

// Writes a tar archive, compressed with zstd, and replaces `path`. Each call of `next` returns a
// file; nullopt: the end. The same files always give the same bytes.
Status write_archive(const std::string& path,
                     const std::function<Result<std::optional<ArchivedFile>>()>& next);

struct ArchiveLimits {
  size_t file_bytes = 0;  // limit for each file
  size_t bytes = 0;       // limit for all files together
};

// Calls `visit` for each file of a tar archive, in order, until a call fails. The archive may be
// compressed with gzip or zstd, or not at all. Bad input: a file or the total is over its limit.
// The excess is never collected in memory. External: an entry is not a regular file, or the archive
// cannot be read.
Status read_archive(const std::string& path, const ArchiveLimits& limits,
                    const std::function<Status(ArchivedFile)>& visit);

// Returns the bytes of the files by name. Entries that are not regular files are left out.
// `most_bytes` limits the total.
Result<std::map<std::string, std::string>> read_archive(const std::string& path, size_t most_bytes);

}  // namespace evolve::world
