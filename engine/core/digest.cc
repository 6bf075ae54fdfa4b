// The XXH3-128 implementation of Digest; the only file that includes xxHash.
#include "engine/core/digest.h"

// xxHash is inlined, because most hashed keys are short and a call would cost as much as the hash.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace evolve {

namespace {

Digest from_xxh(XXH128_hash_t hash) {
  return {hash.high64, hash.low64};
}

std::optional<uint64_t> parse_hex64(std::string_view text) {
  uint64_t value = 0;
  for (char c : text) {
    uint64_t nibble = 0;
    if (c >= '0' && c <= '9') {
      nibble = static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      nibble = static_cast<uint64_t>(c - 'a') + 10;
    } else {
      return std::nullopt;
    }
    value = value << 4 | nibble;
  }
  return value;
}

}  // namespace

std::array<char, 32> Digest::hex_digits() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<char, 32> out;
  for (size_t i = 0; i < 16; ++i) {
    const size_t shift = 4 * (15 - i);
    out[i] = kDigits[high >> shift & 15];
    out[16 + i] = kDigits[low >> shift & 15];
  }
  return out;
}

std::string Digest::hex() const {
  auto digits = hex_digits();
  return {digits.data(), digits.size()};
}

std::optional<Digest> Digest::from_hex(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  auto high = parse_hex64(text.substr(0, 16));
  auto low = parse_hex64(text.substr(16));
  if (!high || !low) return std::nullopt;
  return Digest{*high, *low};
}

Digest digest_of(std::string_view bytes) {
  return from_xxh(XXH3_128bits(bytes.data(), bytes.size()));
}

uint64_t table_hash(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

struct Hasher::State {
  XXH3_state_t xxh;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->xxh);
}
Hasher::~Hasher() = default;

void Hasher::add(std::string_view bytes) {
  XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
}

Digest Hasher::digest() const {
  return from_xxh(XXH3_128bits_digest(&state_->xxh));
}

}  // namespace evolve
