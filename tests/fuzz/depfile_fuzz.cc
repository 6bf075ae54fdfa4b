// A fuzz test of the readers of depfiles and of MSVC's output.
#include <cstdint>
#include <cstdlib>

#include "engine/graph/depfile.h"

using namespace evolve;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto inputs = parse_depfile(text);
  if (!inputs && inputs.error().message.empty()) std::abort();
  const ShownIncludes shown = parse_show_includes(text, "");
  if (shown.output.size() > text.size() + 1) std::abort();
  return 0;
}
