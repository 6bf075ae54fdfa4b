// Files on a POSIX file system: whole-file reads, atomic writes, digests, links.
// The only place that turns errno into an Error; every message has the call and the path.
#pragma once

#include <string>
#include <string_view>

#include "engine/core/ports.h"
#include "engine/core/result.h"

namespace evolve::world {

// Returns the external Error for a failed system call: "<call> '<path>': <strerror>".
Error system_error(std::string_view call, const std::string& path, int error_number);

// Whether there is a file or folder; of what cannot be looked at it says that there is none.
bool is_there(const std::string& path);

// Returns the bytes of a file. A missing file is an external error.
Result<std::string> read_file(const std::string& path);
// As read_file, for a manifest's texts: the error is bad input, and its message the reason alone.
Result<std::string> load_text(const std::string& path);

// Replaces `path` by `bytes` so that a reader sees the old or the new content, never a part:
// written to a temporary name in the same folder, then renamed. Leaves the file alone, mtime and
// all, where it holds these bytes already. The folder must exist.
Status write_file_atomic(const std::string& path, std::string_view bytes);

// The Files port on the real disk. Not synchronised; each thread uses its own.
class DiskFiles : public Files {
 public:
  Result<std::string> read(const std::string& path) override;
  Status write(const std::string& path, std::string_view bytes) override;
  Status remove(const std::string& path) override;
  Status make_folders(const std::string& path) override;
  // The stamp is the digest of device, inode, size, mtime and ctime. A file is too new for one
  // where it was written within the file system's granularity of time before it is read (git's
  // "racy" files).
  Result<std::optional<FileState>> look(const std::string& path, const FileState* before) override;
  Result<bool> place(const std::string& from, const std::string& to, Sharing sharing,
                     const Digest& content) override;
};

}  // namespace evolve::world
