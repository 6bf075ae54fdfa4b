// Durations, shares and sizes as texts, with the unit that suits them.
#pragma once

#include <cstdint>
#include <string>

namespace evolve {

// Returns a duration such as "142.1 us", "3.20 ms", "12.0 s" or "3:05 min".
std::string duration(double seconds);

// Returns a share in percent, such as "12 %" for 0.12.
std::string percent(double share);

// Returns a size such as "1.2 MB". The units are powers of 1000.
std::string size_text(int64_t bytes);

}  // namespace evolve
