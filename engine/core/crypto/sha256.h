// SHA-256, for data that crosses a trust boundary. Only this code and base64.cc include OpenSSL.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace evolve {

// Hashes bytes that arrive in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view bytes);
  // Returns the SHA-256 of all bytes: 64 lower-case hex digits. REQUIRES: called once, after add().
  std::string hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// Returns the SHA-256 of the bytes: 64 lower-case hex digits.
std::string sha256(std::string_view bytes);

// Whether `text` is 64 lower-case hex digits.
bool is_sha256(std::string_view text);

}  // namespace evolve
