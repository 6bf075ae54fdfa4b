// A fuzz test of the reader of libtpu's VMEM report, and of the data of such a report.
#include <cstdint>
#include <cstdlib>

#include "engine/ir/readers/vmem_report.h"

using namespace evolve;

namespace {

void read(std::string_view page) {
  auto report = ir::read_vmem_report(page, "x");
  if (!report) {
    if (!report.error().message.starts_with("x:")) std::abort();
    return;
  }
  for (const ir::ModuleMemory& module : *report) {
    for (const ir::Allocation& one : module.allocations) {
      if (!one.window) continue;
      if (one.window->window_bytes == 0) std::abort();
      if (ir::shape_bytes(one.window->shape) != one.window->window_bytes) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text);
  read("const DATA =" + std::string(text) + "};");
  ir::shape_bytes(text);
  return 0;
}
