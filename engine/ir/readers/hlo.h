// The reader of HLO text, as in the dump "TLP-hlo.txt".
//
//   module      = "HloModule" … {computation}
//   computation = ["ENTRY"] "%" name "(" … ")" "->" … "{" {instruction} "}"
//   instruction = ["ROOT"] "%" name "=" type opcode "(" [operand {"," operand}] ")" {"," attribute}
//   type        = dtype "[" extents "]" ["{" layout "}"] | "(" type {"," type} ")"
//   attribute   = key "=" value, with commas in brackets, braces and quotes alone
//
// A line each, but for line ends in brackets, braces and quotes.
//
// A layout "{1,0:T(8,128)(2,1)S(1)}" has the tiling and the memory space: S(1) is VMEM, none is
// HBM. Comments are dropped from types.
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
  std::vector<std::string> operands;  // names; what a parameter or a constant has in their place
  std::map<std::string, std::string> attributes;
  uint32_t line = 0;  // of the text
  bool is_root = false;
  // Of an attribute; empty where it has none. Without the "%" of a name.
  [[nodiscard]] std::string_view attribute(const std::string& key) const;
};

struct HloComputation {
  std::string name;
  bool is_entry = false;
  std::vector<HloInstruction> instructions;
};

// Where in the source an instruction comes from, by its metadata.
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
  // nullptr where there is none of this name.
  [[nodiscard]] const HloInstruction* find(const std::string& name) const;
  // The same for instructions that do the same work on the same types, whatever their names: what
  // XLA compiles once. Empty for an instruction that is not there.
  [[nodiscard]] std::string work_of(const std::string& name) const;
  // Bytes that an instruction takes from HBM, its operands, and puts there, its result; of what it
  // updates in place only the update. Zero for one that is not there.
  struct HbmBytes {
    double read = 0;
    double written = 0;
  };
  [[nodiscard]] HbmBytes hbm_bytes_of(const std::string& name) const;
  // Whether an instruction is a Pallas kernel, or calls one: XLA makes a fusion of a kernel and of
  // the slice that it fills, for one.
  [[nodiscard]] bool has_kernel(const std::string& name) const;
  // Floating-point operations of the products in it (dot, convolution) and in what it calls, two a
  // multiplication; what a loop calls counts once. Zero for one that is not there.
  [[nodiscard]] double matrix_flops_of(const std::string& name) const;

 private:
  [[nodiscard]] std::string work_of(const HloInstruction& instruction) const;
  [[nodiscard]] bool has_kernel(const HloInstruction& instruction) const;
  [[nodiscard]] std::string body_of(const HloComputation& computation) const;
  [[nodiscard]] double matrix_flops_of(const HloInstruction& instruction) const;

  std::vector<HloComputation> computations_;
  std::map<std::string, std::pair<size_t, size_t>, std::less<>> by_name_;
  // Of each computation what it does: two that do the same have one number.
  std::map<std::string, size_t, std::less<>> bodies_;
  std::map<std::string, double, std::less<>> flops_;  // of each computation
  std::set<std::string, std::less<>> with_kernel_;    // computations
};

// What HLO has for a Pallas kernel.
constexpr std::string_view kKernelTarget = "\"tpu_custom_call\"";

// An error is bad input: "<name>:<line>: …".
Result<HloModule> parse_hlo(std::string_view text, const std::string& name);

}  // namespace evolve::ir
