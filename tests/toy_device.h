// A device on which times can be counted by hand.
#pragma once

#include "engine/ir/model/device.h"

namespace evolve::ir {

// One cycle a granule of 32 bytes, ten cycles of latency, two delay bundles.
inline constexpr Device kToy = {"toy", 1.0, 32.0, 10.0, 1, 1, 2, 0};

}  // namespace evolve::ir
