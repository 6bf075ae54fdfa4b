#include "engine/world/sha256.h"

#include <openssl/evp.h>

#include <array>

namespace evolve::world {

std::string sha256(std::string_view bytes) {
  constexpr size_t kBytes = 32;
  std::array<unsigned char, kBytes> digest{};
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (unsigned char byte : digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace evolve::world
