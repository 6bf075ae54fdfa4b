#include "engine/build/results.h"

#include <algorithm>

namespace evolve {

namespace {

bool is_tentative(const Graph& graph, EdgeId edge) {
  return graph.extension(edge, "tentative") == "1";
}

}  // namespace

bool Results::may_stand(EdgeId edge, const Digest& key) const {
  return !is_tentative(graph_, edge) ||
         std::find(confirmed_.begin(), confirmed_.end(), key) != confirmed_.end();
}

Result<std::optional<ActionResult>> Results::find(EdgeId edge, const Digest& key) {
  if (!may_stand(edge, key)) return std::optional<ActionResult>{};
  if (is_tentative(graph_, edge)) return ledger_.recall(key);
  auto result = memo_.find(key);
  if (!result || *result) return result;
  return ledger_.recall(key);
}

Result<std::vector<std::string>> Results::discovered(const Digest& declared_key) {
  auto discovered = memo_.discovered(declared_key);
  if (discovered && discovered->empty()) return ledger_.recall_discovered(declared_key);
  return discovered;
}

}  // namespace evolve
