// The reader of libtpu's static schedule: the dump "packed-bundles-post-ra", one line a cycle slot
// with the empty bundles that stand for latency, and "final_bundles", without most of those.
//
//   line        = address [mark] ":" [">"] "{" [instruction {" ;; " instruction}] "}"
//   instruction = "%" name "=" opcode operands
//   name        = number                     (no result)
//               | letters number ["_" register]
//   operands    = [predicate] operand {"," operand}
//   predicate   = "(" ["!"] "%p"… ["," passed-through] ")"
//   operand     = "%" name | integer | decimal | "[" [space ":"] "[" term {"+" term} "]" "]" …
//   term        = "%" name | "#" allocation | ["$"] integer        (of a name at most two)
//
// Lines without a "{" say nothing. Comments, which nest and go on over lines, are dropped but for
// five: behind a division stands which of quotient and remainder it gives ("kDiv", "kRem",
// "kDivAndRem": both, in this order), behind a call the HLO instruction ("%gmm.1 =
// custom-call(…)"), behind a "dma.general" what it crosses ("hbm-to-hbm"), behind a load that it is
// of the "core id", and behind any instruction where in the source it comes from
// ("loc("kernel.py":39:8 to :20)", with libtpu's --xla_mosaic_enable_llo_source_annotations=true).
// The scalar unit's instructions are decoded for the simulator; of the others only the opcode is
// kept.
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

// A value that an instruction reads: a constant and what slots hold, added up.
struct Operand {
  int32_t slot = kNone;
  uint32_t constant = 0;
  bool is_known = false;  // false: something the reader does not understand
  int32_t index = kNone;  // a second slot, of an address
};

// Where the kernel's operand of this number lies: an address that is no other's, in the 512 bytes
// of a row of VMEM. Shifted left by four it counts granules, and is still no other's.
constexpr uint32_t kMostParameters = 254;
constexpr uint32_t parameter_address(uint32_t number) {
  return (number + 1) << 20;
}
// The operand, and the granule in it, of an address that counts granules.
constexpr std::pair<uint32_t, uint32_t> parameter_at(uint32_t granule) {
  return {(granule >> 24) - 1, granule & ((1U << 24) - 1)};
}

// A decoded instruction of the scalar unit, or one that moves data or waits for it. Of an `operand`
// and a `parameter` the first operand is its number.
struct Instruction {
  Op op = Op::unknown;
  Way way = Way::inward;  // of a DMA
  bool is_to_smem = false;
  bool negated = false;
  int32_t result = kNone;     // slot of the result
  int32_t reg = kNone;        // its register, for phi
  int32_t predicate = kNone;  // slot of the predicate
  // Of a branch: index of the bundle; of a call: into Schedule::calls; of a guard:
  // Schedule::guards; of what is not understood: Schedule::opcodes.
  uint32_t target = 0;
  std::array<Operand, 4> operands;
  Operand passed;  // the result where the predicate does not hold; unknown: it stays
};

struct Bundle {
  uint32_t first = 0;  // into Schedule::instructions
  uint32_t count = 0;
  uint32_t first_issue = 0;  // into Schedule::issues
  uint32_t issues = 0;
  uint32_t line = 0;  // of the text
};

// Instructions of the vector units that run or not as one.
struct Guard {
  uint32_t line = 0;      // of the text: of the first
  bool is_check = false;  // all that they do is to end the kernel with an error
  std::vector<uint16_t> opcodes;
};

// What the text says of one of the kernel's operands: "bf16[8,128]" is a bf16 of the extents 8 and
// 128.
struct KernelOperand {
  uint32_t number = 0;
  std::string space;  // "vmem", "hbm", …; "" for a value in a register
  std::string dtype;
  std::vector<uint32_t> shape;
  bool is_output = false;
};

// What the top-level program calls: a module, named like the HLO instruction that it stands for.
struct Call {
  std::string module;
  std::string opcode;  // of HLO: "custom-call", "fusion", …
};

// A predicate's slot, and the value at which the kernel does not stop with an error.
struct Check {
  int32_t slot = kNone;
  bool value = false;
};

struct Schedule {
  std::string name;  // of the kernel
  std::vector<Bundle> bundles;
  std::vector<Instruction> instructions;
  std::vector<uint16_t> issues;  // of every instruction its opcode, an index
  // Of every instruction its place in `sources`, from 1; 0 is none. Empty where the dump has none.
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

// Reads a dump. An error is bad input: "<name>:<line>: …".
Result<Schedule> parse_schedule(std::string_view text, const std::string& name);

}  // namespace evolve::ir
