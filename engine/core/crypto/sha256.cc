#include "engine/core/crypto/sha256.h"

#include <openssl/evp.h>

#include <array>

namespace evolve {

namespace {

constexpr size_t kBytes = 32;
constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

struct Sha256::Context {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> state{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  EVP_DigestInit_ex(context_->state.get(), EVP_sha256(), nullptr);
}

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  EVP_DigestUpdate(context_->state.get(), bytes.data(), bytes.size());
}

std::string Sha256::hex() {
  std::array<unsigned char, kBytes> digest{};
  EVP_DigestFinal_ex(context_->state.get(), digest.data(), nullptr);
  std::string out;
  for (unsigned char byte : digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string sha256(std::string_view bytes) {
  Sha256 hasher;
  hasher.add(bytes);
  return hasher.hex();
}

bool is_sha256(std::string_view text) {
  return text.size() == 2 * kBytes && text.find_first_not_of(kDigits) == std::string_view::npos;
}

}  // namespace evolve
