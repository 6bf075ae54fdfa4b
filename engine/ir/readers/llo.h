// The reader of an LLO pass: a module's program between two of libtpu's passes ("original", …,
// "post-ra", "post-delay-converter"), as a tree of regions.
//
//   pass        = {line} [{stack}]
//   line        = indent (region | allocation | loop | instruction | "_")    ("_": it is empty)
//
//   region      = "$region" number ["(" word ")"] ":" ["#{" module "}"] [parent] ["//" kind]
//   parent      = "parent=" number
//   kind        = "loop_body" | "pred_region" | "loop_header" | "pred_check" | …
//
//   allocation  = "#allocation" number ["_spill"] "[" field {", " field} "]"
//   field       = "shape = '" shape "'" | "space=" space | "size = " integer
//               | "offset = " integer | "scoped" | "fixed_abs" | "tag = '" text "'"
//
//   loop        = "loop: start=" … ", step=" … ", limit=" …        (before its regions)
//   instruction = "%" name "=" opcode operands
//   stack       = "stack" number {frame}
//
// libtpu writes stacks with --xla_jf_collect_llo_stack_trace=true; then lines end in "(stack"
// number ")".
//
// The content of a region is indented by two more than its head. A region ends where a line is
// indented less. Comments ("//" before a head, and "/*", which nest and continue over lines) are
// dropped. Two kinds of instructions are kept, because a kernel's speed depends on them: transfers
// ("dma.hbm_to_vmem", with "dma.done" as the wait) and the traffic of spilled registers. Before
// registers are allocated, that traffic is "vpseudo.spill_to_mem", "spseudo.fill_from_mem" and the
// like. After that, it is loads and stores ("vst", "sld") of a spill slot
// ("[vmem:[#allocation23_spill] …]").
//
// A folder has about sixty passes of a module. Analyze reads kLloPass. This is the last one, so its
// instructions are those of the program (libtpu gives both the same fingerprint). It has every
// allocation with its place, and the spill slots, which exist only from "post-ra" on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve::ir {

constexpr std::string_view kLloPass = "post-delay-converter.txt";

enum class RegionKind : uint8_t {
  plain,
  loop_body,
  predicated,  // it runs as a whole or not at all
  control,     // the control of loops and predicates: headers, checks, exits
};

struct LloRegion {
  uint32_t number = 0;
  uint32_t parent = 0;  // its place in LloPass::regions; its own place: it has no parent
  RegionKind kind = RegionKind::plain;
  uint32_t line = 0;
};

struct LloAllocation {
  uint32_t number = 0;
  std::string space;  // "vmem", "smem", "sflag", "hbm"
  uint64_t bytes = 0;
  std::optional<uint64_t> offset;  // in its space; none: not chosen yet
  std::string shape;               // "f32[1024,2048]{1,0:T(8,128)}"
  std::string tag;                 // the first sentence
  bool is_spill = false;
  bool is_fixed = false;  // a name for a given address, which takes no room
  uint32_t region = 0;    // its place in LloPass::regions
  uint32_t line = 0;
};

// An instruction of the text.
struct LloInstruction {
  uint16_t opcode = 0;  // its place in LloPass::opcodes
  uint32_t region = 0;  // in LloPass::regions
  uint32_t line = 0;
};

struct LloPass {
  uint64_t count = 0;              // of all instructions
  std::vector<LloRegion> regions;  // a parent before the regions in it
  std::vector<LloAllocation> allocations;
  std::vector<std::string> spaces;  // of the allocations, each once
  std::vector<LloInstruction> transfers;
  std::vector<LloInstruction> waits;  // for transfers
  std::vector<LloInstruction> spills;
  std::vector<LloInstruction> fills;
  std::vector<std::string> opcodes;
};

// Reads a dump. Bad input: "<name>:<line>: …". If a dump is cut off after a line that no loop or
// branch goes around, only its fingerprint shows the loss (fingerprints.h).
Result<LloPass> read_llo(std::string_view text, const std::string& name);

// The use of a memory space: the sum of all allocations, and the most that is allocated at one
// time. Nested regions live at the same time. Regions next to each other do not.
struct SpaceUse {
  uint64_t bytes = 0;
  uint64_t peak_bytes = 0;
  uint64_t spilled_bytes = 0;  // the part of `peak_bytes` in spill slots
};
SpaceUse space_use(const LloPass& pass, std::string_view space);

}  // namespace evolve::ir
