// The digest of a file's bytes: the first half of their SHA-256. Candidates choose the bytes of
// files that are part of keys, and it takes 2^64 tries to find two files with the same digest.
#pragma once

#include <string_view>

#include "engine/core/digest.h"
#include "engine/core/sha256.h"

namespace evolve {

// Hashes bytes that arrive in pieces.
class ContentHasher {
 public:
  void add(std::string_view bytes) { sha256_.add(bytes); }
  // REQUIRES: called once, last.
  Digest digest();

 private:
  Sha256 sha256_;
};

// Returns the digest of the bytes whose SHA-256 is given, as 64 hex digits.
Digest content_digest_from(std::string_view sha256);

Digest content_digest(std::string_view bytes);

}  // namespace evolve
