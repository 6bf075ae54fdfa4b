#include "engine/ir/model/growth.h"

#include <algorithm>
#include <bit>

namespace evolve::ir {

namespace {

int64_t with_sign(uint32_t value) {
  return static_cast<int32_t>(value);
}

// Returns how many times `value` can grow by `growth` and stay in the range from `low` to `high`.
uint64_t steps_within(int64_t value, int64_t growth, int64_t low, int64_t high) {
  if (growth == 0) return UINT64_MAX;
  return static_cast<uint64_t>(growth > 0 ? (high - value) / growth : (value - low) / -growth);
}

bool is_unsigned(Op op) {
  return op == Op::lt_u || op == Op::le_u || op == Op::gt_u || op == Op::ge_u || op == Op::min_u ||
         op == Op::max_u;
}

// Whether the mask is 2^m - 1.
bool is_low_mask(uint32_t mask) {
  return (mask & (mask + 1)) == 0;
}

}  // namespace

uint64_t Growth::passes() const {
  return now_ == start_ ? bound_ : 0;
}

uint32_t Growth::of(const Operand& operand) const {
  uint32_t sum = 0;
  if (operand.slot != kNone) sum += now_.slots[static_cast<size_t>(operand.slot)];
  if (operand.index != kNone) sum += now_.slots[static_cast<size_t>(operand.index)];
  return sum;
}

void Growth::set(const Instruction& one, uint32_t growth) {
  if (one.result == kNone) return;
  now_.slots[static_cast<size_t>(one.result)] = growth;
  if (one.reg != kNone) now_.registers[static_cast<size_t>(one.reg)] = growth;
}

void Growth::need_constant(const Operand& operand) {
  if (of(operand) != 0) bound(0);
}

void Growth::bound(uint64_t passes) {
  bound_ = std::min(bound_, passes);
}

void Growth::see(const Instruction& one, const Seen& seen) {
  if (one.predicate != kNone && now_.slots[static_cast<size_t>(one.predicate)] != 0) bound(0);
  if (!seen.runs) {
    set(one, 0);  // its result is not known
    return;
  }
  if (!*seen.runs) {
    if (one.passed.is_known) set(one, of(one.passed));
    return;
  }
  switch (one.op) {
    case Op::branch:
    case Op::call:
    case Op::guard: break;
    case Op::dma:
      need_constant(one.operands[1]);
      need_constant(one.operands[3]);
      if (one.is_to_smem) bound(0);
      break;
    case Op::wait:
    case Op::flag_set:
    case Op::flag_add:
      need_constant(one.operands[0]);
      need_constant(one.operands[1]);
      break;
    case Op::store_smem: {
      need_constant(one.operands[0]);
      if (!seen.operands[0]) {
        bound(0);
      } else if (uint32_t growth = seen.operands[1] ? of(one.operands[1]) : 0; growth != 0) {
        now_.smem[*seen.operands[0]] = growth;
      } else {
        now_.smem.erase(*seen.operands[0]);
      }
      break;
    }
    default: set(one, result_of(one, seen));
  }
}

uint32_t Growth::result_of(const Instruction& one, const Seen& seen) {
  switch (one.op) {
    case Op::phi:
    case Op::rename: return one.reg == kNone ? 0 : now_.registers[static_cast<size_t>(one.reg)];
    case Op::unknown:
    case Op::opaque:
    case Op::of_vectors:
    case Op::operand:
    case Op::parameter: return 0;
    case Op::flag_read: need_constant(one.operands[0]); return 0;
    case Op::copy: return seen.operands[0] ? of(one.operands[0]) : 0;
    case Op::load_smem: {
      need_constant(one.operands[0]);
      auto found = seen.operands[0] ? now_.smem.find(*seen.operands[0]) : now_.smem.end();
      return found == now_.smem.end() ? 0 : found->second;
    }
    case Op::select: {
      need_constant(one.operands[0]);
      if (seen.operands[0]) {
        size_t chosen = *seen.operands[0] != 0 ? 1 : 2;
        return seen.operands.at(chosen) ? of(one.operands.at(chosen)) : 0;
      }
      if (of(one.operands[1]) != of(one.operands[2])) bound(0);
      return seen.operands[1] == seen.operands[2] ? of(one.operands[1]) : 0;
    }
    default: return of_arithmetic(one, seen.operands[0], seen.operands[1]);
  }
}

uint32_t Growth::of_arithmetic(const Instruction& one, Value a, Value b) {
  uint32_t growth_a = of(one.operands[0]);
  uint32_t growth_b = of(one.operands[1]);
  if (growth_a == 0 && growth_b == 0) return 0;
  // The result must not change between known and not known. The result cannot change in this way if
  // both operands are known.
  if (!a || !b) {
    bool is_decided = compute(one.op, a, b).has_value();
    if (is_decided) bound(0);
    return 0;
  }
  int64_t sa = with_sign(*a);
  int64_t ga = with_sign(growth_a);
  switch (one.op) {
    case Op::add: return growth_a + growth_b;
    case Op::sub: return growth_a - growth_b;
    case Op::mul:
      if (growth_a * growth_b != 0) break;
      return *a * growth_b + growth_a * *b;
    case Op::shift_left:
      if (growth_b != 0 || *b > 31) break;
      return growth_a << *b;
    case Op::shift_right:
    case Op::shift_right_signed: {
      bool has_sign = one.op == Op::shift_right_signed;
      if (growth_b != 0 || *b > 31) break;
      return of_quotient(has_sign ? sa : int64_t{*a}, ga, int64_t{1} << *b, has_sign);
    }
    case Op::divide:
      if (growth_b != 0 || *b == 0) break;
      return of_quotient(*a, ga, *b, false);
    case Op::remainder:
      if (growth_b != 0 || *b == 0) break;
      return growth_a - of_quotient(*a, ga, *b, false) * *b;
    case Op::bit_and: {
      bool is_mask_first = growth_a == 0;
      uint32_t mask = is_mask_first ? *a : *b;
      uint32_t value = is_mask_first ? *b : *a;
      uint32_t growth = is_mask_first ? growth_b : growth_a;
      if (growth_a != 0 && growth_b != 0) break;
      bool is_low = is_low_mask(mask);
      if (!is_low && !is_low_mask(~mask)) break;
      int64_t unit = int64_t{is_low ? mask : ~mask} + 1;
      uint32_t whole =
          of_quotient(value, with_sign(growth), unit, false) * static_cast<uint32_t>(unit);
      return is_low ? growth - whole : whole;
    }
    case Op::eq:
    case Op::ne:
    case Op::lt_s:
    case Op::le_s:
    case Op::gt_s:
    case Op::ge_s:
    case Op::lt_u:
    case Op::le_u:
    case Op::gt_u:
    case Op::ge_u: compare(one.op, *a, *b, growth_a, growth_b); return 0;
    case Op::min_s:
    case Op::max_s:
    case Op::min_u:
    case Op::max_u: {
      compare(is_unsigned(one.op) ? Op::lt_u : Op::lt_s, *a, *b, growth_a, growth_b);
      if (*a == *b && growth_a != growth_b) break;
      return compute(one.op, a, b) == a ? growth_a : growth_b;
    }
    default: break;
  }
  bound(0);
  return 0;
}

void Growth::compare(Op op, uint32_t a, uint32_t b, uint32_t growth_a, uint32_t growth_b) {
  bool has_sign = !is_unsigned(op);
  int64_t low = has_sign ? INT32_MIN : 0;
  int64_t high = has_sign ? INT32_MAX : int64_t{UINT32_MAX};
  int64_t x = has_sign ? with_sign(a) : int64_t{a};
  int64_t y = has_sign ? with_sign(b) : int64_t{b};
  int64_t gx = with_sign(growth_a);
  int64_t gy = with_sign(growth_b);
  bound(steps_within(x, gx, low, high));
  bound(steps_within(y, gy, low, high));
  constexpr int64_t kFar = int64_t{1} << 40;
  int64_t difference = x - y;
  int64_t growth = gx - gy;
  switch (op) {
    case Op::eq:
    case Op::ne:
      if (difference == 0) {
        if (growth != 0) bound(0);
      } else if (difference < 0) {
        bound(steps_within(difference, growth, -kFar, -1));
      } else {
        bound(steps_within(difference, growth, 1, kFar));
      }
      break;
    case Op::lt_s:
    case Op::lt_u:
    case Op::ge_s:
    case Op::ge_u:
      // The outcome changes where the difference passes from -1 to 0 or back.
      bound(difference < 0 ? steps_within(difference, growth, -kFar, -1)
                           : steps_within(difference, growth, 0, kFar));
      break;
    default:
      bound(difference <= 0 ? steps_within(difference, growth, -kFar, 0)
                            : steps_within(difference, growth, 1, kFar));
  }
}

uint32_t Growth::of_quotient(int64_t value, int64_t growth, int64_t divisor, bool is_signed) {
  if (growth % divisor == 0) {
    // The quotient grows in whole steps, as long as the value does not wrap.
    bound(steps_within(value, growth, is_signed ? INT32_MIN : 0,
                       is_signed ? INT32_MAX : int64_t{UINT32_MAX}));
    return static_cast<uint32_t>(growth / divisor);
  }
  int64_t quotient = value / divisor - (value % divisor < 0 ? 1 : 0);
  bound(steps_within(value, growth, quotient * divisor, (quotient + 1) * divisor - 1));
  return 0;
}

}  // namespace evolve::ir
