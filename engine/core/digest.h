// Digest: 128 bits that stand for some bytes. The digest of a file is made with SHA-256
// (content.h), because candidates choose its bytes. The digests here are made with XXH3-128, over
// bytes that no candidate chooses: keys, which consist of digests, and texts that evolve and its
// user write.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace evolve {

struct Digest {
  uint64_t high = 0;
  uint64_t low = 0;

  friend auto operator<=>(const Digest&, const Digest&) = default;

  // Returns 32 lower-case hex digits, most significant first. This is the canonical form, used in
  // names and databases.
  [[nodiscard]] std::string hex() const;
  // The same as hex(), but allocates no memory.
  [[nodiscard]] std::array<char, 32> hex_digits() const;
  // Returns the first 12 hex digits, for people.
  [[nodiscard]] std::string brief() const { return hex().substr(0, 12); }
  // Reads the canonical form. Nullopt: the text has another form.
  static std::optional<Digest> from_hex(std::string_view text);
};

// Returns the XXH3-128 of `bytes`. The algorithm must never change, because digests are stored.
Digest digest_of(std::string_view bytes);

// Returns the digest that a FileState has for a folder. This digest stands only for the folder's
// existence. (FileTable makes the digest of a source folder from the names in it.)
inline Digest folder_digest() {
  return digest_of("folder");
}
// Returns the digest that a result has for an output that its command did not write. No content has
// this digest.
inline Digest missing_digest() {
  return digest_of("missing");
}

// Returns a hash for tables in memory. The hash is never stored.
uint64_t table_hash(std::string_view bytes);

// Hashes bytes that arrive in pieces.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void add(std::string_view bytes);
  // Returns the digest of all bytes that were added so far.
  [[nodiscard]] Digest digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evolve

template <>
struct std::hash<evolve::Digest> {
  size_t operator()(const evolve::Digest& digest) const noexcept {
    return static_cast<size_t>(digest.low);
  }
};
