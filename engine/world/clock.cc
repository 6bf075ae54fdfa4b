#include "engine/world/clock.h"

#include <fmt/chrono.h>

#include <chrono>

namespace evolve::world {

double SystemClock::monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string SystemClock::utc() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace evolve::world
