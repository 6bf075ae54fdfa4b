// A device with round numbers, so that a test can count times by hand.
#pragma once

#include "engine/ir/model/device.h"

namespace evolve::ir {

// A device with a clock of 1 Hz, one cycle per granule of 32 bytes, ten cycles of latency, and
// two branch delay bundles.
inline constexpr Device kToy = {"toy", 1.0, 32.0, 10.0, 1, 1, 2, 0};

}  // namespace evolve::ir
