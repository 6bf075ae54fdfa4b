// The reader of libtpu's static schedule. The dump "packed-bundles-post-ra" has one line per cycle
// slot, with the empty bundles that stand for latency; "final_bundles" lacks most of those.
//
//   line        = address [mark] ":" [">"] "{" [instruction {" ;; " instruction}] "}"
//   instruction = "%" name "=" opcode operands
//   name        = number                     (no result)
//               | letters number ["_" register]
//   operands    = [predicate] operand {"," operand}
//   predicate   = "(" ["!"] "%p"… ["," passed-through] ")"
//   operand     = "%" name | integer | decimal | "[" [space ":"] "[" term {"+" term} "]" "]" …
//   term        = "%" name | "#" allocation | ["$"] integer        (at most two names)
//
// Lines without a "{" are ignored. Comments, which nest and continue over lines, are dropped, with
// five exceptions:
//   after a division        whether it gives the quotient or the remainder ("kDiv", "kRem",
//                           "kDivAndRem": both, in this order)
//   after a call            the HLO instruction ("%gmm.1 = custom-call(…)")
//   after a "dma.general"   its way ("hbm-to-hbm")
//   after a load            that it loads the "core id"
//   after any instruction   where in the source it comes from ("loc("kernel.py":39:8 to :20)", with
//                           libtpu's --xla_mosaic_enable_llo_source_annotations=true)
// The scalar unit's instructions are decoded for the simulator. Of other instructions only the
// opcode is kept.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/result.h"
#include "engine/ir/readers/dump_lines.h"
#include "engine/ir/readers/opcode.h"

namespace evolve::ir {

constexpr int32_t kNone = -1;

// A value that an instruction reads: the sum of a constant and the values of slots.
struct Operand {
  int32_t slot = kNone;
  uint32_t constant = 0;
  bool is_known = false;  // false: the reader does not understand it
  int32_t index = kNone;  // a second slot, in an address
};

// Returns the address that stands for the kernel's operand `number`. The address counts rows of
// VMEM of 512 bytes. No two operands share an address, not even if the address is shifted left by
// four and counts granules.
constexpr uint32_t kMostParameters = 254;
constexpr uint32_t parameter_address(uint32_t number) {
  return (number + 1) << 20;
}
// Returns the operand, and the granule within it, at an address in units of granules.
constexpr std::pair<uint32_t, uint32_t> parameter_at(uint32_t granule) {
  return {(granule >> 24) - 1, granule & ((1U << 24) - 1)};
}

// A decoded instruction of the scalar unit, or one that moves data or waits for it. For Op::operand
// and Op::parameter, operands[0] is the number of the kernel's operand.
struct Instruction {
  Op op = Op::unknown;
  Way way = Way::inward;  // of a DMA
  bool is_to_smem = false;
  bool negated = false;
  int32_t result = kNone;     // slot of the result
  int32_t reg = kNone;        // its register, for phi
  int32_t predicate = kNone;  // slot of the predicate
  // A branch: the index of the bundle. A call: the index into Schedule::calls. A guard: into
  // Schedule::guards. An instruction that is not understood: into Schedule::opcodes.
  uint32_t target = 0;
  std::array<Operand, 4> operands;
  Operand passed;  // the result if the predicate does not hold; unknown: the old one
};

struct Bundle {
  uint32_t first = 0;  // into Schedule::instructions
  uint32_t count = 0;
  uint32_t first_issue = 0;  // into Schedule::issues
  uint32_t issues = 0;
  uint32_t line = 0;  // of the text
};

// Instructions of the vector units that run together or not at all.
struct Guard {
  uint32_t line = 0;      // of the text, of the first instruction
  bool is_check = false;  // they only end the kernel with an error
  std::vector<uint16_t> opcodes = {};
};

// One of the kernel's operands, by the text: "bf16[8,128]" is a bf16 with the extents 8 and 128.
struct KernelOperand {
  uint32_t number = 0;
  std::string space;  // "vmem", "hbm", …; "" for a value in a register
  std::string dtype;
  std::vector<uint32_t> shape;
  bool is_output = false;
};

// A call of the top-level program: a module, named like the HLO instruction that it stands for.
struct Call {
  std::string module;
  std::string opcode;  // of HLO: "custom-call", "fusion", …
};

// A check that stops the kernel with an error unless a predicate has a value: the predicate's slot,
// and that value.
struct Check {
  int32_t slot = kNone;
  bool value = false;
};

struct Schedule {
  std::string name;  // of the kernel
  std::vector<Bundle> bundles;
  std::vector<Instruction> instructions;
  std::vector<uint16_t> issues;  // the opcode of every instruction, an index
  // By issue: its source's place in `sources`, from 1; 0: none. Empty: the dump has no sources.
  std::vector<uint16_t> issue_sources;
  std::vector<SourceLine> sources;
  std::vector<Opcode> opcodes;
  std::vector<KernelOperand> operands;
  std::vector<Call> calls;
  std::vector<Guard> guards;
  std::vector<Check> checks;
  int32_t slots = 0;
  int32_t registers = 0;
};

// Reads a dump. Bad input: "<name>:<line>: …".
Result<Schedule> parse_schedule(std::string_view text, const std::string& name);

}  // namespace evolve::ir
