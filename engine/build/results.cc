#include "engine/build/results.h"

#include <algorithm>

namespace evolve {

bool Results::is_confirmed(const Digest& key) const {
  return std::find(confirmed_.begin(), confirmed_.end(), key) != confirmed_.end();
}

bool Results::may_stand(EdgeId edge, const Digest& key) const {
  return !graph_.extensions(edge).is_tentative || is_confirmed(key);
}

Result<std::optional<ActionResult>> Results::find(EdgeId edge, const Digest& key) {
  if (graph_.extensions(edge).is_tentative) {
    if (is_confirmed(key)) return ledger_.recall(key);
    return std::optional<ActionResult>{};
  }
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
