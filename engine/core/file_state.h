// The state of a file: the digest of its bytes, and a stamp that later shows whether the bytes are
// unchanged.
#pragma once

#include "engine/core/digest.h"

namespace evolve {

struct FileState {
  Digest content;
  // Digest of the file's metadata: device, inode, size and times. Zero: not known, because the file
  // is so new that a later write might leave the same stamp.
  Digest stamp;
  // Time of the last change of the bytes, name or rights, in nanoseconds since 1970; 0: not known.
  int64_t changed = 0;

  friend bool operator==(const FileState&, const FileState&) = default;
};

}  // namespace evolve
