// Durations and sizes with the unit that suits them.
#pragma once

#include <cstdint>
#include <string>

namespace evolve {

// "142.1 us", "3.20 ms", "12.0 s", "3:05 min".
std::string duration(double seconds);

// "12 %": of a share of 1.
std::string percent(double share);

// "1.2 MB": powers of 1000.
std::string size_text(int64_t bytes);

}  // namespace evolve
