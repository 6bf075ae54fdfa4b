// Files on a POSIX file system: whole-file reads, atomic writes.
// The only place that turns errno into an Error; every message has the call and the path.
#pragma once

#include <string>
#include <string_view>

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

// A name beside `path` that no other writer of this or another process uses.
std::string temporary_name(const std::string& path);
// Writes all of `bytes` to an open file; the error names `path`.
Status write_all(int fd, const std::string& path, std::string_view bytes);
// Replaces `path` by `bytes` so that a reader sees the old or the new content, never a part:
// written to a temporary name in the same folder, then renamed. Leaves the file alone, mtime and
// all, where it holds these bytes already. A device or a pipe is written to. The folder must exist.
Status write_file_atomic(const std::string& path, std::string_view bytes);

}  // namespace evolve::world
