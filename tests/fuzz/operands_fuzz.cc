// A fuzz test of the readers of operands: a line with a type ("s32[3,4]"), then JSON or a NumPy
// file.
#include <cstdint>
#include <cstdlib>

#include "engine/ir/model/operands.h"
#include "engine/ir/readers/dump_name.h"

using namespace evolve;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view type = text.substr(0, text.find('\n'));
  const std::string_view rest = text.substr(std::min(type.size() + 1, text.size()));
  ir::read_dump_name(type);
  auto schedule =
      ir::parse_schedule(" 0 : { %s1_s0 = inlined_call_operand.vmem [shape: " + std::string(type) +
                             ", index: 0, kind: input] }",
                         "x");
  if (!schedule) return 0;
  if (auto values = ir::read_npy(rest)) static_cast<void>(ir::lay_out(*schedule, {{0, *values}}));
  auto document = nlohmann::json::parse(rest, nullptr, false);
  if (document.is_discarded()) return 0;
  auto input = ir::read_operands(document);
  if (!input) {
    if (input.error().message.empty()) std::abort();
    return 0;
  }
  for (const auto& [name, runs] : input->kernels) {
    for (const ir::KernelInput& run : runs) static_cast<void>(ir::lay_out(*schedule, run.operands));
  }
  return 0;
}
