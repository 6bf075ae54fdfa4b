// SHA-256, for what crosses a trust boundary; the only code that includes OpenSSL.
#pragma once

#include <string>
#include <string_view>

namespace evolve::world {

// 64 lower-case hex digits.
std::string sha256(std::string_view bytes);

}  // namespace evolve::world
