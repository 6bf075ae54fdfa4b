// The seal of a bundle: the SHA-256 of each 64 KiB of a file, stored at its end in a frame that
// zstd's readers skip. The seal shows any change and its place before a byte of the file is
// decompressed.
//
// The frame is little-endian (RFC 8878, 3.1.2): u32 0x184D2A5E; u32 the size of what follows; JSON
// in the form that seal() writes, {"chunk":65536,"format":NAME,"sha256":[HEX…],"size":BYTES}; the
// size of the whole frame, right-aligned in twelve characters; a line feed.
#pragma once

#include <string>

#include "engine/core/result.h"

namespace evolve::world {

Status seal(const std::string& path, const std::string& format);

// Checks a file against its seal. Bad input: the file has no such seal, or has changed since:
// "FILE: bytes 65536 to 131071 are damaged".
Status check_seal(const std::string& path, const std::string& format);

}  // namespace evolve::world
