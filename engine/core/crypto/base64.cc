#include "engine/core/crypto/base64.h"

#include <openssl/evp.h>

#include <algorithm>
#include <iterator>

namespace evolve {

std::optional<std::string> decode_base64(std::string_view text) {
  constexpr size_t kGroup = 4, kMostPadding = 2;
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
               [](char c) { return c != ' ' && c != '\n' && c != '\r' && c != '\t'; });
  const size_t end = std::min(digits.find('='), digits.size());
  const size_t padding = digits.size() - end;
  const bool is_whole = digits.size() % kGroup == 0 && padding <= kMostPadding &&
                        digits.find_first_not_of('=', end) == std::string::npos;
  if (!is_whole) return std::nullopt;
  // OpenSSL decodes padding as zeros, which are cut off below.
  std::string out(digits.size() / kGroup * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(digits.data()),
                                   static_cast<int>(digits.size()));
  if (size < 0) return std::nullopt;
  out.resize(static_cast<size_t>(size) - padding);
  return out;
}

}  // namespace evolve
