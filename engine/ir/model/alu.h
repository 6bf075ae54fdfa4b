// The scalar unit's arithmetic, on 32-bit values that may be unknown.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/ir/readers/opcode.h"

namespace evolve::ir {

// nullopt: not known to the model.
using Value = std::optional<uint32_t>;

// Returns the result of an operation with one operand or two. `b` is ignored if the operation has
// one. If an operand is not known, the result is known only if the other operand decides it.
Value compute(Op op, Value a, Value b);

}  // namespace evolve::ir
