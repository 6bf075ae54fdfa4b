#include "engine/ir/readers/guards.h"

#include <unordered_map>

namespace evolve::ir {

namespace {

// The maximum number of bundles after a branch, on any device, that may run whether the branch is
// taken or not.
constexpr size_t kMostDelay = 8;

// Marks the bundles at which another path of the program may begin.
std::vector<bool> way_starts(const Schedule& schedule) {
  std::vector<bool> out(schedule.bundles.size(), false);
  for (size_t i = 0; i < schedule.bundles.size(); ++i) {
    const Bundle& bundle = schedule.bundles[i];
    for (uint32_t k = bundle.first; k < bundle.first + bundle.count; ++k) {
      const Instruction& one = schedule.instructions[k];
      if (one.op != Op::branch) continue;
      out[one.target] = true;
      for (size_t after = i + 1; after < out.size() && after <= i + kMostDelay; ++after)
        out[after] = true;
    }
  }
  return out;
}

}  // namespace

void add_guards(Schedule& schedule, const std::vector<Guarded>& guarded) {
  if (guarded.empty()) return;
  const std::vector<bool> starts = way_starts(schedule);
  std::vector<Instruction> instructions;
  instructions.reserve(schedule.instructions.size() + guarded.size() / 2);
  std::unordered_map<int64_t, uint32_t> open;  // guards by predicate and sign
  auto key = [](int32_t predicate, bool negated) {
    return 2 * int64_t{predicate} + (negated ? 1 : 0);
  };
  size_t next = 0;
  for (size_t i = 0; i < schedule.bundles.size(); ++i) {
    Bundle& bundle = schedule.bundles[i];
    if (starts[i]) open.clear();
    auto first = static_cast<uint32_t>(instructions.size());
    for (uint32_t k = bundle.first; k < bundle.first + bundle.count; ++k) {
      const Instruction& one = schedule.instructions[k];
      instructions.push_back(one);
      if (one.result == kNone) continue;
      open.erase(key(one.result, false));
      open.erase(key(one.result, true));
    }
    for (; next < guarded.size() && guarded[next].bundle == i; ++next) {
      const Guarded& one = guarded[next];
      auto [guard, is_new] = open.try_emplace(key(one.predicate, one.negated),
                                              static_cast<uint32_t>(schedule.guards.size()));
      if (is_new) {
        schedule.guards.push_back({.line = bundle.line, .is_check = true});
        Instruction instruction;
        instruction.op = Op::guard;
        instruction.predicate = one.predicate;
        instruction.negated = one.negated;
        instruction.target = guard->second;
        instructions.push_back(instruction);
      }
      Guard& together = schedule.guards[guard->second];
      together.opcodes.push_back(one.opcode);
      together.is_check = together.is_check && one.halts;
    }
    bundle.first = first;
    bundle.count = static_cast<uint32_t>(instructions.size()) - first;
  }
  schedule.instructions = std::move(instructions);
}

}  // namespace evolve::ir
