// Keys: the digest of parts that have a tag, a name and a value. One writer, two sinks: the parts
// that `why` prints are the very ones that were hashed.
#pragma once

#include <string_view>
#include <vector>

#include "engine/core/action.h"
#include "engine/core/digest.h"

namespace evolve {

// Bumped whenever the meaning of a key changes: every key then is new.
constexpr const char* kKeyScheme = "evolve-key-3";

// The digest of one part: of the lengths of tag and name, four bytes each, and the three texts, so
// that no two parts are the same bytes.
Digest part_digest(std::string_view tag, std::string_view name, std::string_view value);

// Collects parts in order. A key is XXH3-128 over the digest of the scheme and those of the parts,
// 16 bytes each: a part that many keys share, a header say, is hashed once.
class KeyWriter {
 public:
  enum class Keep {
    parts,    // what was hashed can be told: for keys that are stored
    digests,  // the key alone: for the look at edges of which most are up to date
  };
  explicit KeyWriter(Keep keep = Keep::parts) : keep_(keep) {}

  void add(std::string_view tag, std::string_view name, std::string_view value);
  // A part whose digest is known. REQUIRES: Keep::digests.
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
