// Packed stored forms: a line that names the form, a digest of all bytes after the digest, and then
// arrays in little-endian order. They are for data that is read often and as a whole, and that may
// be lost.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/core/digest.h"

namespace evolve::packed {

static_assert(std::endian::native == std::endian::little, "stored forms are little-endian");

template <typename T>
void append(std::string& out, std::span<const T> items) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(items.data()), items.size_bytes());
}

// Takes arrays off the front of a stored form. The arrays need not be aligned there.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  // Takes an array of `count` items. False: too few bytes are left.
  template <typename T>
  bool take(uint64_t count, std::vector<T>& out) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (count > bytes_.size() / sizeof(T)) return false;
    out.resize(count);
    if (count > 0) std::memcpy(out.data(), bytes_.data(), count * sizeof(T));
    bytes_.remove_prefix(count * sizeof(T));
    return true;
  }
  bool take_text(uint64_t size, std::string_view& out) {
    if (size > bytes_.size()) return false;
    out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }
  [[nodiscard]] std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
};

// Returns the stored form of a body. `magic` is the line that names the form, with its newline.
inline std::string sealed(std::string_view magic, std::string_view body) {
  const Digest check = digest_of(body);
  std::string out;
  out.reserve(magic.size() + sizeof check + body.size());
  out += magic;
  append(out, std::span(&check, 1));
  out += body;
  return out;
}

// Returns the body of a stored form. Nullopt: the bytes have another form, or are damaged.
inline std::optional<std::string_view> unsealed(std::string_view magic, std::string_view bytes) {
  if (!bytes.starts_with(magic)) return std::nullopt;
  Reader reader(bytes.substr(magic.size()));
  std::vector<Digest> check;
  if (!reader.take(1, check) || digest_of(reader.rest()) != check.front()) return std::nullopt;
  return reader.rest();
}

}  // namespace evolve::packed
