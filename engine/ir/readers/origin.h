// The origin of an unknown value of the scalar unit: the first instruction with an unknown result
// on the way to the value.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "engine/ir/readers/schedule.h"

namespace evolve::ir {

struct ValueOrigin {
  const Instruction* instruction = nullptr;
  uint32_t line = 0;  // of the text
};

// Follows a slot's value back through slots that are not known, to an instruction that reads only
// known values. `is_known` says whether a slot is known. Nullopt: the schedule does not say where
// the value comes from.
std::optional<ValueOrigin> origin_of(const Schedule& schedule, int32_t slot,
                                     const std::function<bool(int32_t)>& is_known);

// Returns the instruction, an index into Schedule::instructions, whose unknown result makes a
// predicate unknown. Instructions that only combine predicates are passed through. Nullopt: the
// schedule does not say.
std::optional<uint32_t> maker_of_predicate(const Schedule& schedule, int32_t slot,
                                           const std::function<bool(int32_t)>& is_known);

}  // namespace evolve::ir
