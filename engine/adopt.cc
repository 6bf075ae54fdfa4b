#include "engine/adopt.h"

namespace evolve {

Status adopt(const Graph& graph, EdgeId id, const std::vector<std::string>& discovered,
             Lookup& lookup, Files& files, Memo& memo) {
  auto finding = lookup.find(id);
  if (!finding) return std::move(finding).error();
  auto full = lookup.full_key(id, finding->declared, discovered);
  if (!full) return std::move(full).error();
  ActionResult result;
  result.key = full->key();
  result.declared_key = finding->declared.key();
  result.parts = full->parts();
  result.discovered = discovered;
  for (NodeId output : graph.edge(id).outputs) {
    auto digest = files.digest(graph.path(output));
    if (!digest) return std::move(digest).error();
    if (!*digest) return internal_error("an output that does not exist was adopted");
    result.outputs.push_back(**digest);
  }
  return memo.put(result);
}

}  // namespace evolve
