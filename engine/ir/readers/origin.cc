#include "engine/ir/readers/origin.h"

#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace evolve::ir {

std::optional<ValueOrigin> origin_of(const Schedule& schedule, int32_t slot,
                                     const std::function<bool(int32_t)>& is_known) {
  std::unordered_map<int32_t, ValueOrigin> makers;                 // by slot
  std::unordered_map<int32_t, std::vector<int32_t>> in_registers;  // slots, for phis
  for (const Bundle& bundle : schedule.bundles) {
    for (uint32_t i = bundle.first; i < bundle.first + bundle.count; ++i) {
      const Instruction& one = schedule.instructions[i];
      if (one.result == kNone) continue;
      makers.try_emplace(one.result, ValueOrigin{&one, bundle.line});
      if (one.reg != kNone && one.op != Op::phi) in_registers[one.reg].push_back(one.result);
    }
  }
  std::deque<int32_t> next = {slot};
  std::unordered_set<int32_t> seen = {slot};
  while (!next.empty()) {
    const int32_t at = next.front();
    next.pop_front();
    auto maker = makers.find(at);
    if (maker == makers.end()) continue;
    const Instruction& one = *maker->second.instruction;
    bool is_start = one.op != Op::phi;
    auto follow = [&](int32_t from) {
      if (!makers.contains(from) || is_known(from)) return;
      is_start = false;
      if (seen.insert(from).second) next.push_back(from);
    };
    for (const Operand& operand : one.operands) {
      follow(operand.slot);
      follow(operand.index);
    }
    follow(one.passed.slot);
    follow(one.predicate);
    if (one.op == Op::phi && one.reg != kNone) {
      for (int32_t from : in_registers[one.reg]) follow(from);
    }
    if (is_start) return maker->second;
  }
  return std::nullopt;
}

std::optional<uint32_t> maker_of_predicate(const Schedule& schedule, int32_t slot,
                                           const std::function<bool(int32_t)>& is_known) {
  std::unordered_map<int32_t, uint32_t> makers;  // by slot
  for (uint32_t i = 0; i < schedule.instructions.size(); ++i) {
    if (schedule.instructions[i].result != kNone)
      makers.try_emplace(schedule.instructions[i].result, i);
  }
  std::unordered_set<int32_t> seen;
  while (seen.insert(slot).second) {
    const auto maker = makers.find(slot);
    if (maker == makers.end()) return std::nullopt;
    const Instruction& one = schedule.instructions[maker->second];
    const bool only_combines = one.op == Op::pred_or || one.op == Op::pred_and ||
                               one.op == Op::pred_nand || one.op == Op::pred_xor ||
                               one.op == Op::pred_not || one.op == Op::copy;
    if (!only_combines) return maker->second;
    for (const Operand& operand : one.operands) {
      if (operand.slot == kNone || is_known(operand.slot)) continue;
      slot = operand.slot;
      break;
    }
  }
  return std::nullopt;
}

}  // namespace evolve::ir
