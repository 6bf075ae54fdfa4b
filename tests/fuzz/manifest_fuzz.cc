// A fuzz test of the reader of manifests. A manifest is read, or refused with a message that names
// the place. A manifest that was read can be evaluated.
#include <cstdint>
#include <cstdlib>

#include "engine/graph/manifest.h"

using namespace evolve;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Graph graph;
  graph.set_most_text(size_t{1} << 16);
  // Every included file is the same manifest again. The fourth include fails.
  int left = 4;
  LoadText load = [&](const std::string&) -> Result<std::string> {
    if (left-- == 0) return bad_input("No such file or directory");
    return text;
  };
  auto status = parse_manifest("build.ninja", load, graph);
  if (!status && status.error().message.empty()) std::abort();
  if (!status) return 0;
  for (size_t i = 0; i < graph.edge_count(); ++i) {
    const auto edge = static_cast<EdgeId>(i);
    (void)graph.binding(edge, "command");
    (void)graph.binding(edge, "description", Graph::Quoting::none);
    (void)graph.find_variable_cycle(edge);
    if (graph.edge(edge).outputs.empty()) std::abort();
  }
  auto targets = graph.default_targets();
  if (targets) (void)graph.find_cycle(*targets);
  return 0;
}
