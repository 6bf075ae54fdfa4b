#include "engine/core/text/units.h"

#include <fmt/format.h>

#include <cmath>

namespace evolve {

std::string size_text(int64_t bytes) {
  auto size = static_cast<double>(bytes);
  for (const char* unit : {"B", "kB", "MB", "GB"}) {
    if (size < 1000) return fmt::format("{:.{}f} {}", size, unit[0] == 'B' ? 0 : 1, unit);
    size /= 1000;
  }
  return fmt::format("{:.1f} TB", size);
}

std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  auto whole = std::lround(seconds);
  return fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

std::string percent(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

}  // namespace evolve
