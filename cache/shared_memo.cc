#include "cache/shared_memo.h"

#include <vector>

namespace evolve::cache {

Result<std::optional<ActionResult>> SharedMemo::find_here(const Digest& key) {
  auto result = own_.find(key);
  if (result && !*result) result = ledger_.recall(key);
  if (!result || !*result) return result;
  TRY_ASSIGN(auto lost, lost_blobs(**result, blobs_));
  return lost.empty() ? result : std::optional<ActionResult>{};
}

Result<std::optional<ActionResult>> SharedMemo::find(const Digest& key) {
  auto here = find_here(key);
  if (!here || *here) return here;
  TRY(ledger_.flush());
  auto found = remote_.find(key);
  if (!found || !*found) return found;
  if (!is_answer(**found)) return std::optional<ActionResult>{};
  TRY(own_.put(**found));
  return found;
}

bool SharedMemo::is_answer(const ActionResult& result) const {
  if (result.declared_key == result.key) return result.discovered.empty();
  auto asked = discovered_.find(result.declared_key);
  return asked != discovered_.end() && asked->second == result.discovered;
}

Result<std::vector<std::string>> SharedMemo::discovered(const Digest& declared_key) {
  auto here = own_.discovered(declared_key);
  if (here && here->empty()) here = ledger_.recall_discovered(declared_key);
  if (here && !here->empty()) discovered_[declared_key] = *here;
  if (!here || !here->empty()) return here;
  TRY(ledger_.flush());
  auto found = remote_.discovered(declared_key);
  if (found) discovered_[declared_key] = *found;
  return found;
}

Status SharedMemo::put(const ActionResult& result) {
  TRY(own_.put(result));
  if (uploads_ != nullptr) uploads_->offer(result, remote_.damaged());
  return {};
}

Status SharedMemo::foresee(std::span<const Digest> keys) {
  std::vector<Digest> unknown;
  for (const Digest& key : keys) {
    TRY_ASSIGN(auto here, find_here(key));
    if (!here) unknown.push_back(key);
  }
  if (unknown.empty()) return {};
  TRY(ledger_.flush());
  return remote_.foresee(unknown);
}

}  // namespace evolve::cache
