// Digest: 128 bits that stand for some bytes. Those of files are made by SHA-256 (content.h); those
// here by XXH3-128, of what no candidate chooses: keys are made of digests, and of what evolve and
// its user write.
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

  // 32 lower-case hex digits, most significant first: the canonical form, used in names and
  // databases.
  [[nodiscard]] std::string hex() const;
  // The same, without memory of its own.
  [[nodiscard]] std::array<char, 32> hex_digits() const;
  // The first 12 hex digits: for people.
  [[nodiscard]] std::string brief() const { return hex().substr(0, 12); }
  // Reads the canonical form; anything else is nullopt.
  static std::optional<Digest> from_hex(std::string_view text);
};

// Returns the XXH3-128 of `bytes`. The algorithm is fixed for ever: digests are stored.
Digest digest_of(std::string_view bytes);

// A folder stands for its existence alone: what is in it is no input.
inline Digest folder_digest() {
  return digest_of("folder");
}
// What stands in a result for an output that a command did not write. Nothing has this digest.
inline Digest missing_digest() {
  return digest_of("missing");
}

// A hash for tables in memory; never stored.
uint64_t table_hash(std::string_view bytes);

// The digest of bytes that arrive in pieces.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void add(std::string_view bytes);
  // The digest of all that was added so far.
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
