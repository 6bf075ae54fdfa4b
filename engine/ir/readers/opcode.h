// The instructions of a TPU TensorCore, as libtpu's dumps name them: the unit that issues each
// instruction, and its effect on the scalar unit, which decides what runs.
//
// A name is as in a dump, without the parts that say where a result is:
// "vmatmul.mubr.bf16.gmra.mrb" for "vmatmul.mubr.bf16.gmra.mrb[4].mxu0".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace evolve::ir {

// Functional units by which issue slots are counted. `pop` takes the results of the first four. The
// counts of EUP and pops equal those of libtpu's own static utilisation. Two counts differ: libtpu
// counts an XLU for four bundles after each of its instructions, and a vcombine as two instructions
// of the VALU.
enum class Unit : uint8_t { mxu, xlu, valu, eup, pop, load, store, scalar, dma };
constexpr size_t kUnits = 9;
const char* unit_name(Unit unit);

// The operations that the simulator executes.
enum class Op : uint8_t {
  ignored,     // nothing that the scalar unit can see
  unknown,     // not understood; its result is not known
  opaque,      // understood, but its result comes from the runtime
  of_vectors,  // a value that the vector units hand over: data
  copy,
  add,
  sub,
  mul,
  mul_high,
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
  divide,
  remainder,
  divide_both,  // puts aside a quotient, a remainder, or both
  pop_divided,  // takes a result that was put aside
  add_f,
  sub_f,
  mul_f,
  min_f,
  max_f,
  eq_f,
  ne_f,
  lt_f,
  le_f,
  gt_f,
  ge_f,
  floor_f,
  ceil_f,
  to_float,
  to_int,
  pred_or,
  pred_and,
  pred_nand,
  pred_xor,
  pred_not,
  select,
  address,
  phi,
  rename,  // another name for the content of its register
  load_smem,
  store_smem,
  dma,
  wait,
  flag_set,
  flag_add,
  flag_read,
  branch,
  call,       // the top-level program calls a module
  guard,      // decides whether predicated instructions of the vector units run
  core,       // the number of this core
  operand,    // the address of one of the kernel's operands
  parameter,  // the value of an operand that is handed over in a register
};

// The direction in which a DMA crosses HBM's border: from HBM, to HBM, both or neither.
enum class Way : uint8_t { inward, outward, within_hbm, on_chip };

struct Opcode {
  std::string name;
  Unit unit = Unit::scalar;
  Op op = Op::unknown;
  Way way = Way::on_chip;  // of a DMA
  bool is_to_smem = false;
  bool is_matmul = false;
  bool is_spill = false;    // moves a vector register to or from memory because registers run out
  uint8_t mxu = 0;          // number of the matrix unit
  uint8_t matmul_rows = 0;  // of its left operand; the right one fills a matrix unit; 0: no matmul
  uint8_t matmul_cycles = 0;  // cycles until its unit takes another, on tpu7x; 0: no matmul
};

// Decodes the first word of an instruction.
Opcode decode_opcode(std::string_view word);

}  // namespace evolve::ir
