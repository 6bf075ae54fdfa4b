// What is known of a file: the digest of its bytes, and by what to see that they are the same.
#pragma once

#include "engine/core/digest.h"

namespace evolve {

struct FileState {
  Digest content;
  // Of what the file system says without reading: device, inode, size, times. Zero where it says
  // too little: a file so new that a later write might leave the same stamp.
  Digest stamp;
  // When its bytes, name or rights were last changed, in nanoseconds since 1970; 0: not known.
  int64_t changed = 0;

  friend bool operator==(const FileState&, const FileState&) = default;
};

}  // namespace evolve
