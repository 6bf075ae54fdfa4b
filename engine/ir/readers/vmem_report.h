// The reader of libtpu's VMEM report, the dump "TLP-…-vmem_report.html": a page for people that
// contains its data in this form:
//
//   const DATA ={"global_info": {"vmem_capacity": bytes, …},
//                "hlo_breakdowns": {module: {"total_size": bytes,
//                                            "blocks": [{"allocations": [{"size": bytes, "tag":
//                                            text}, …]}, …]}, …}};
//
// The tag says what an allocation is for: "SPILL", "scratch operand", "input window allocation for
// operator input 4. The window shape is bf16[512,512], while the full shape is bf16[4096,2048]. …".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve::ir {

// The room in VMEM for the blocks of an operand that are worked on.
struct Window {
  bool is_output = false;
  uint32_t operand = 0;  // among the inputs, or among the outputs
  std::string shape;     // of one block: "bf16[512,512]"
  uint64_t window_bytes = 0;
  // The number of blocks that there is room for; two blocks are double buffering.
  uint64_t buffers = 0;
};

struct Allocation {
  std::string tag;  // the first sentence
  uint64_t bytes = 0;
  bool is_spill = false;
  std::optional<Window> window;
};

struct ModuleMemory {
  std::string module;
  uint64_t bytes = 0;
  std::vector<Allocation> allocations;
};

// Returns the modules in the order of their names, without libtpu's own ("<…>"). Empty: the page
// has no data. Bad input: "<name>: …", data of another form.
Result<std::vector<ModuleMemory>> read_vmem_report(std::string_view page, const std::string& name);

// Returns the bytes of "bf16[512,512]", without padding. Nullopt: the type is not known.
std::optional<uint64_t> shape_bytes(std::string_view shape);

}  // namespace evolve::ir
