// The real clock.
#pragma once

#include <string>

#include "engine/core/ports.h"

namespace evolve::world {

class SystemClock : public Clock {
 public:
  double monotonic_seconds() override;
  std::string utc() override;
  int64_t file_time() override;
};

}  // namespace evolve::world
