// The digest of a file's bytes: the first half of their SHA-256. This digest is safe even if
// candidates choose the bytes, because it takes 2^64 tries to find two files with the same digest.
#pragma once

#include <string_view>

#include "engine/core/crypto/sha256.h"
#include "engine/core/digest.h"

namespace evolve {

// Hashes bytes that arrive in pieces.
class ContentHasher {
 public:
  void add(std::string_view bytes) { sha256_.add(bytes); }
  // Returns the digest of all bytes. REQUIRES: called once, after all calls of add().
  Digest digest();

 private:
  Sha256 sha256_;
};

// Returns the digest of the bytes that have this SHA-256, which is written as 64 hex digits.
Digest content_digest_from(std::string_view sha256);

Digest content_digest(std::string_view bytes);

}  // namespace evolve
