// Files on a POSIX file system: whole-file reads, atomic writes. The error of a failed system call
// comes from system_error(), so that its message has the call and the path.
#pragma once

#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace evolve::world {

// Returns the external Error for a failed system call: "<call> '<path>': <strerror>".
Error system_error(std::string_view call, const std::string& path, int error_number);

// Whether there is a file or folder at `path`. False also if the system cannot tell.
bool is_there(const std::string& path);

// Returns the bytes of a file. A missing file is an external error.
Result<std::string> read_file(const std::string& path);
// Reads a file as read_file() does, but for the texts of a manifest: an error is bad input, and its
// message is only the reason.
Result<std::string> load_text(const std::string& path);

// Returns a name in the folder of `path` that no other writer of this or another process uses.
std::string temporary_name(const std::string& path);
// Writes all of `bytes` to an open file; the error names `path`.
Status write_all(int fd, const std::string& path, std::string_view bytes);
// Replaces `path` by `bytes` so that a reader sees the old or the new content, never a part. The
// bytes are written under a temporary name in the same folder, which is then renamed. A file that
// already holds these bytes stays untouched and keeps its mtime. A device or a pipe is written to
// directly. The folder must exist.
Status write_file_atomic(const std::string& path, std::string_view bytes);

}  // namespace evolve::world
