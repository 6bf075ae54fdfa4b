// A fuzz test of the readers of HLO text and of libtpu's VMEM report.
#include <cstdint>
#include <cstdlib>

#include "engine/ir/readers/hlo.h"
#include "engine/ir/readers/vmem_report.h"

using namespace evolve;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto report = ir::read_vmem_report(text, "x");
  if (!report && !report.error().message.starts_with("x:")) std::abort();
  auto module = ir::parse_hlo(text, "x");
  if (!module) {
    if (!module.error().message.starts_with("x:")) std::abort();
    return 0;
  }
  for (const ir::HloComputation& computation : module->computations()) {
    for (const ir::HloInstruction& one : computation.instructions) {
      ir::source_of(one);
      if (!(module->hbm_bytes_of(one.name).read >= 0)) std::abort();
      if (computation.is_entry && module->work_of(one.name).empty()) std::abort();
    }
  }
  return 0;
}
