#include "engine/ir/model/alu.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace evolve::ir {

namespace {

// Returns the result of a predicate operation. One operand may decide the result, whatever the
// other operand is.
Value decided(Op op, Value a, Value b) {
  uint32_t decisive = op == Op::pred_or ? 1 : 0;
  bool is_decided = (a && (*a != 0) == (decisive != 0)) || (b && (*b != 0) == (decisive != 0));
  if (!is_decided && (!a || !b)) return std::nullopt;
  uint32_t result = is_decided ? decisive : 1 - decisive;
  return op == Op::pred_nand ? 1 - result : result;
}

Value binary(Op op, uint32_t a, uint32_t b) {
  auto sa = static_cast<int32_t>(a);
  auto sb = static_cast<int32_t>(b);
  switch (op) {
    case Op::add: return a + b;
    case Op::sub: return a - b;
    case Op::mul: return a * b;
    case Op::mul_high: return static_cast<uint32_t>((uint64_t{a} * b) >> 32);
    case Op::divide: return b != 0 ? Value(a / b) : std::nullopt;
    case Op::remainder: return b != 0 ? Value(a % b) : std::nullopt;
    case Op::shift_left: return b < 32 ? a << b : 0;
    case Op::shift_right: return b < 32 ? a >> b : 0;
    case Op::shift_right_signed: return static_cast<uint32_t>(sa >> std::min<uint32_t>(b, 31));
    case Op::bit_and: return a & b;
    case Op::bit_or: return a | b;
    case Op::bit_xor: return a ^ b;
    case Op::min_s: return static_cast<uint32_t>(std::min(sa, sb));
    case Op::max_s: return static_cast<uint32_t>(std::max(sa, sb));
    case Op::min_u: return std::min(a, b);
    case Op::max_u: return std::max(a, b);
    case Op::eq: return a == b ? 1 : 0;
    case Op::ne: return a != b ? 1 : 0;
    case Op::lt_s: return sa < sb ? 1 : 0;
    case Op::le_s: return sa <= sb ? 1 : 0;
    case Op::gt_s: return sa > sb ? 1 : 0;
    case Op::ge_s: return sa >= sb ? 1 : 0;
    case Op::lt_u: return a < b ? 1 : 0;
    case Op::le_u: return a <= b ? 1 : 0;
    case Op::gt_u: return a > b ? 1 : 0;
    case Op::ge_u: return a >= b ? 1 : 0;
    case Op::pred_xor: return (a != 0) != (b != 0) ? 1 : 0;
    default: return std::nullopt;
  }
}

Value unary_float(Op op, uint32_t a) {
  auto value = std::bit_cast<float>(a);
  if (op == Op::floor_f) return std::bit_cast<uint32_t>(std::floor(value));
  if (op == Op::ceil_f) return std::bit_cast<uint32_t>(std::ceil(value));
  if (op == Op::to_float)
    return std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(a)));
  // Neither the rounding nor the result for values that are too large is known.
  constexpr float kTooLarge = 2147483648.0F;
  if (std::trunc(value) != value || std::fabs(value) >= kTooLarge) return std::nullopt;
  return static_cast<uint32_t>(static_cast<int32_t>(value));
}

bool is_binary_float(Op op) {
  return op >= Op::add_f && op <= Op::ge_f;
}

Value binary_float(Op op, uint32_t a, uint32_t b) {
  auto x = std::bit_cast<float>(a);
  auto y = std::bit_cast<float>(b);
  auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
  switch (op) {
    case Op::add_f: return bits(x + y);
    case Op::sub_f: return bits(x - y);
    case Op::mul_f: return bits(x * y);
    case Op::eq_f: return x == y ? 1 : 0;
    case Op::ne_f: return x != y ? 1 : 0;
    case Op::lt_f: return x < y ? 1 : 0;
    case Op::le_f: return x <= y ? 1 : 0;
    case Op::gt_f: return x > y ? 1 : 0;
    case Op::ge_f: return x >= y ? 1 : 0;
    case Op::min_f:
    case Op::max_f:
      // The result for NaN is not known.
      if (std::isnan(x) || std::isnan(y)) return std::nullopt;
      return bits(op == Op::min_f ? std::min(x, y) : std::max(x, y));
    default: return std::nullopt;
  }
}

}  // namespace

Value compute(Op op, Value a, Value b) {
  switch (op) {
    case Op::pred_or:
    case Op::pred_and:
    case Op::pred_nand: return decided(op, a, b);
    default: break;
  }
  if (!a) return std::nullopt;
  switch (op) {
    case Op::copy: return a;
    case Op::pred_not: return *a == 0 ? 1 : 0;
    case Op::floor_f:
    case Op::ceil_f:
    case Op::to_float:
    case Op::to_int: return unary_float(op, *a);
    default: break;
  }
  if (!b) return std::nullopt;
  return is_binary_float(op) ? binary_float(op, *a, *b) : binary(op, *a, *b);
}

}  // namespace evolve::ir
