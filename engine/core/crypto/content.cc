#include "engine/core/crypto/content.h"

namespace evolve {

Digest ContentHasher::digest() {
  return content_digest_from(sha256_.hex());
}

Digest content_digest_from(std::string_view sha256) {
  return Digest::from_hex(sha256.substr(0, 32)).value_or(Digest{});
}

Digest content_digest(std::string_view bytes) {
  return content_digest_from(sha256(bytes));
}

}  // namespace evolve
