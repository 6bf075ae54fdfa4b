// The reader of libtpu's static schedule, the dump "packed-bundles-post-ra": one line a cycle slot,
// with the empty bundles that stand for latency.
//
//   line        = address [mark] ":" [">"] "{" [instruction {" ;; " instruction}] "}"
//   instruction = "%" name "=" opcode operands
//   name        = number            (no result)
//               | ("s"|"p"|"v"…) number ["_" register]
//   operands    = [predicate] operand {"," operand}
//   predicate   = "(" ["!"] "%p"… ["," passed-through] ")"
//   operand     = "%" name | integer | "[" [space ":"] "[" term {"+" term} "]" "]" …
//   term        = "%" name | "#" allocation | ["$"] integer        (of a name at most two)
//
// Comments, which nest, are dropped. The scalar unit's instructions are decoded for the simulator;
// of the others only the unit is kept.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve::ir {

// Functional units by which issue slots are counted.
enum class Unit : uint8_t { mxu, xlu, valu, eup, load, store, scalar, dma };
constexpr size_t kUnits = 8;
const char* unit_name(Unit unit);

// What the simulator executes. `unknown` makes its result unknown.
enum class Op : uint8_t {
  unknown,
  copy,
  add,
  sub,
  mul,
  shift_left,
  shift_right,
  shift_right_signed,
  bit_and,
  bit_or,
  bit_xor,
  min_s,
  max_s,
  min_u,
  max_u,
  eq,
  ne,
  lt_s,
  le_s,
  gt_s,
  ge_s,
  lt_u,
  le_u,
  gt_u,
  ge_u,
  pred_or,
  pred_and,
  pred_nand,
  pred_xor,
  pred_not,
  select,
  address,
  phi,
  load_smem,
  store_smem,
  dma,
  wait,
  flag_set,
  flag_add,
  branch,
  parameter,
};

constexpr int32_t kNone = -1;

// A value that an instruction reads: a constant and what slots hold, added up.
struct Operand {
  int32_t slot = kNone;
  uint32_t constant = 0;
  bool is_known = false;  // false: something the reader does not understand
  int32_t index = kNone;  // a second slot, of an address
};

// What a DMA crosses.
enum class Way : uint8_t { inward, outward, on_chip };  // from HBM, to HBM, neither

// Where the kernel's operand of this number lies: an address that is no other's, in the 512 bytes
// of a row of VMEM. Shifted left by four it counts granules, and is still no other's.
constexpr uint32_t kMostParameters = 254;
constexpr uint32_t parameter_address(uint32_t number) {
  return (number + 1) << 20;
}

// A decoded instruction of the scalar unit, or one that moves data or waits for it. Of a
// `parameter` the first operand is its number: the value of a scalar that is handed over in a
// register.
struct Instruction {
  Op op = Op::unknown;
  int32_t result = kNone;     // slot of the result
  int32_t reg = kNone;        // its register, for phi
  int32_t predicate = kNone;  // slot of the predicate
  bool negated = false;
  Way way = Way::inward;  // of a DMA
  bool is_to_smem = false;
  uint32_t target = 0;  // of a branch: index of the bundle
  std::array<Operand, 4> operands;
  Operand passed;  // the result where the predicate does not hold; unknown: it stays
};

struct Bundle {
  uint32_t first = 0;  // into Schedule::instructions
  uint32_t count = 0;
  uint32_t line = 0;                     // of the text
  std::array<uint8_t, kUnits> issued{};  // instructions by unit
  uint8_t matmuls = 0;
  uint8_t spills = 0;  // vector registers put into memory for want of room
  uint8_t fills = 0;   // and taken back
};

struct Schedule {
  std::string name;  // of the kernel
  std::vector<Bundle> bundles;
  std::vector<Instruction> instructions;
  int32_t slots = 0;
  int32_t registers = 0;
};

// Reads a dump. An error is bad input: "<name>:<line>: …".
Result<Schedule> parse_schedule(std::string_view text, const std::string& name);

}  // namespace evolve::ir
