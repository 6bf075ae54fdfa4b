// Where a value of the scalar unit comes from: the instruction at the start of what is not known.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "engine/ir/readers/schedule.h"

namespace evolve::ir {

struct Origin {
  const Instruction* instruction = nullptr;
  uint32_t line = 0;  // of the text
};

// Follows a slot's value back, through what is not known by `is_known` (of a slot), to an
// instruction that reads none of those. nullopt where the schedule does not say where it comes
// from.
std::optional<Origin> origin_of(const Schedule& schedule, int32_t slot,
                                const std::function<bool(int32_t)>& is_known);

// The instruction, an index into Schedule::instructions, whose result is not known and makes a
// predicate so: what only combines predicates is gone through.
std::optional<uint32_t> maker_of_predicate(const Schedule& schedule, int32_t slot,
                                           const std::function<bool(int32_t)>& is_known);

}  // namespace evolve::ir
