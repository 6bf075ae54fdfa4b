// Keys: digests over parts that have a tag, a name and a value. One writer hashes the parts and
// keeps them, so that `why` prints exactly the parts that were hashed.
#pragma once

#include <string_view>
#include <vector>

#include "engine/core/action.h"
#include "engine/core/digest.h"

namespace evolve {

// The version of all keys. It changes whenever the meaning of a key changes, and then every key is
// new.
constexpr const char* kKeyScheme = "evolve-key-3";

// Returns the digest of one part. The digest covers the lengths of tag and name, four bytes each,
// and then the three texts. Because of the lengths, different parts never give the same bytes.
Digest part_digest(std::string_view tag, std::string_view name, std::string_view value);

// Collects parts in order. A key is XXH3-128 over the digest of the scheme and the digests of the
// parts, 16 bytes each. So a part that many keys share, such as a header, is hashed only once.
class KeyWriter {
 public:
  enum class Keep {
    parts,    // keeps the parts, too: for keys that are stored
    digests,  // keeps only digests: for looking at edges that are mostly up to date
  };
  explicit KeyWriter(Keep keep = Keep::parts) : keep_(keep) {}

  void add(std::string_view tag, std::string_view name, std::string_view value);
  // Adds a part whose digest is known. REQUIRES: Keep::digests.
  void add(const Digest& part) { digests_.push_back(part); }
  void clear();
  [[nodiscard]] Digest key() const;
  [[nodiscard]] const std::vector<KeyPart>& parts() const { return parts_; }

 private:
  Keep keep_;
  std::vector<Digest> digests_;
  std::vector<KeyPart> parts_;
};

}  // namespace evolve
