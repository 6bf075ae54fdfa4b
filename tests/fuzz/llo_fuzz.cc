// A fuzz test of the readers of libtpu's LLO passes, and of the schedule that shows how long a
// pass's regions live.
#include <cstdint>
#include <cstdlib>

#include "engine/ir/readers/live_range.h"
#include "engine/ir/readers/llo.h"

using namespace evolve;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& [region, range] : ir::live_ranges(text)) {
    if (range.last == UINT32_MAX) std::abort();
  }
  auto pass = ir::read_llo(text, "x");
  if (!pass) {
    if (!pass.error().message.starts_with("x:")) std::abort();
    return 0;
  }
  for (size_t i = 0; i < pass->regions.size(); ++i) {
    if (pass->regions[i].parent > i) std::abort();
  }
  for (const ir::LloAllocation& one : pass->allocations) {
    if (one.region >= pass->regions.size()) std::abort();
    ir::SpaceUse use = ir::space_use(*pass, one.space);
    bool is_sound = use.spilled_bytes <= use.peak_bytes && use.peak_bytes <= use.bytes &&
                    (one.is_fixed || one.bytes <= use.peak_bytes);
    if (!is_sound) std::abort();
    if (&one - pass->allocations.data() > 16) break;
  }
  for (const auto* list : {&pass->transfers, &pass->waits, &pass->spills, &pass->fills}) {
    for (const ir::LloInstruction& one : *list) {
      if (one.opcode >= pass->opcodes.size() || one.region >= pass->regions.size()) std::abort();
    }
  }
  return 0;
}
