// A fuzz test of the reader of dyndep files, with a manifest of two edges.
#include <cstdint>
#include <cstdlib>

#include "engine/graph/dyndep.h"
#include "engine/graph/manifest.h"

using namespace evolve;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Graph graph;
  auto parsed = parse_manifest(
      "build.ninja",
      [](const std::string&) {
        return Result<std::string>(
            "rule c\n  command = c\nbuild a: c || dd\n  dyndep = dd\nbuild b: c || dd\n  dyndep = "
            "dd\n");
      },
      graph);
  if (!parsed) std::abort();
  auto outputs = load_dyndep(graph, *graph.find_node("dd"),
                             std::string(reinterpret_cast<const char*>(data), size));
  if (!outputs && outputs.error().message.empty()) std::abort();
  return 0;
}
