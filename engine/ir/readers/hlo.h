// The reader of HLO text, as in the dump "TLP-hlo.txt".
//
//   module      = "HloModule" … {computation}
//   computation = ["ENTRY"] "%" name "(" … ")" "->" … "{" {instruction} "}"
//   instruction = ["ROOT"] "%" name "=" type opcode "(" [operand {"," operand}] ")" {"," attribute}
//   type        = dtype "[" extents "]" ["{" layout "}"] | "(" type {"," type} ")"
//   attribute   = key "=" value, with commas only in brackets, braces and quotes
//
// Each instruction takes one line; line ends in brackets, braces and quotes do not count.
//
// A layout "{1,0:T(8,128)(2,1)S(1)}" has the tiling and the memory space. S(1) is VMEM; without a
// space it is HBM. Comments are dropped from types.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve::ir {

struct HloInstruction {
  std::string name;
  std::string type;
  std::string opcode;
  std::vector<std::string> operands;  // names; a parameter's number; a constant's value
  std::map<std::string, std::string> attributes;
  uint32_t line = 0;  // of the text
  bool is_root = false;
  // Returns the value of an attribute. A name comes without its "%". Empty: there is no such
  // attribute.
  [[nodiscard]] std::string_view attribute(const std::string& key) const;
};

struct HloComputation {
  std::string name;
  bool is_entry = false;
  std::vector<HloInstruction> instructions;
};

// The place in the source that an instruction comes from, by its metadata.
struct HloSource {
  std::string op_name;
  std::string file;
  uint32_t line = 0;
};
HloSource source_of(const HloInstruction& instruction);

class HloModule {
 public:
  explicit HloModule(std::vector<HloComputation> computations);

  [[nodiscard]] const std::vector<HloComputation>& computations() const { return computations_; }
  // Finds an instruction by its name. Null: no instruction has this name.
  [[nodiscard]] const HloInstruction* find(const std::string& name) const;
  // Returns a text that is the same for instructions that do the same work on the same types,
  // whatever their names. XLA compiles only one of these instructions. Empty: there is no such
  // instruction.
  [[nodiscard]] std::string work_of(const std::string& name) const;
  // The bytes that an instruction reads from HBM (its operands) and writes to HBM (its result). If
  // it updates an operand in place, only the update counts. Zero: there is no such instruction.
  struct HbmBytes {
    double read = 0;
    double written = 0;
  };
  [[nodiscard]] HbmBytes hbm_bytes_of(const std::string& name) const;
  // Whether an instruction is a Pallas kernel or calls one. For example, XLA makes a fusion of a
  // kernel and the slice that it fills.
  [[nodiscard]] bool has_kernel(const std::string& name) const;
  // Returns the floating-point operations of the products (dot, convolution) in an instruction and
  // in the computations that it calls, two per multiplication. The body of a loop counts once.
  // Zero: there is no such instruction.
  [[nodiscard]] double matrix_flops_of(const std::string& name) const;

 private:
  [[nodiscard]] std::string work_of(const HloInstruction& instruction) const;
  [[nodiscard]] bool has_kernel(const HloInstruction& instruction) const;
  [[nodiscard]] std::string body_of(const HloComputation& computation) const;
  [[nodiscard]] double matrix_flops_of(const HloInstruction& instruction) const;

  std::vector<HloComputation> computations_;
  std::map<std::string, std::pair<size_t, size_t>, std::less<>> by_name_;
  // By computation: a number for its work. Computations that do the same work have the same number.
  std::map<std::string, size_t, std::less<>> bodies_;
  std::map<std::string, double, std::less<>> flops_;  // by computation
  std::set<std::string, std::less<>> with_kernel_;    // computations
};

// The custom-call target that a Pallas kernel has in HLO.
constexpr std::string_view kKernelTarget = "\"tpu_custom_call\"";

// Reads a module. Bad input: "<name>:<line>: …".
Result<HloModule> parse_hlo(std::string_view text, const std::string& name);

}  // namespace evolve::ir
