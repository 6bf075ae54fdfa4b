// Durations and sizes with the unit that suits them.
#pragma once

#include <cstdint>
#include <string>

namespace evolve {

// Returns "142.1 us", "3.20 ms", "12.0 s", "3:05 min".
std::string duration(double seconds);

// Returns "12 %" for a share of 0.12.
std::string percent(double share);

// Returns "1.2 MB": powers of 1000.
std::string size_text(int64_t bytes);

}  // namespace evolve
