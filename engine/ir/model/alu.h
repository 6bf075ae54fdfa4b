// The scalar unit's arithmetic: 32 bits, and whether anything is known of a value.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/ir/readers/opcode.h"

namespace evolve::ir {

// nullopt: not known to the model.
using Value = std::optional<uint32_t>;

// The result of an operation with one operand or two; `b` is not looked at where there is one.
// Where an operand is not known, the result is known only if the other decides alone.
Value compute(Op op, Value a, Value b);

}  // namespace evolve::ir
