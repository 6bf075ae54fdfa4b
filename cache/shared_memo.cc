#include "cache/shared_memo.h"

#include <vector>

namespace evolve::cache {

Result<std::optional<ActionResult>> SharedMemo::find_here(const Digest& key) {
  auto result = own_.find(key);
  if (result && !*result) result = ledger_.recall(key);
  if (!result || !*result) return result;
  auto lost = lost_blobs(**result, blobs_);
  if (!lost) return std::move(lost).error();
  return lost->empty() ? result : std::optional<ActionResult>{};
}

Result<std::optional<ActionResult>> SharedMemo::find(const Digest& key) {
  auto here = find_here(key);
  if (!here || *here) return here;
  if (auto flushed = ledger_.flush(); !flushed) return std::move(flushed).error();
  auto found = remote_.find(key);
  if (!found || !*found) return found;
  if (!is_answer(**found)) return std::optional<ActionResult>{};
  if (auto status = own_.put(**found); !status) return std::move(status).error();
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
  if (auto flushed = ledger_.flush(); !flushed) return std::move(flushed).error();
  auto found = remote_.discovered(declared_key);
  if (found) discovered_[declared_key] = *found;
  return found;
}

Status SharedMemo::put(const ActionResult& result) {
  if (auto status = own_.put(result); !status) return status;
  if (uploads_ != nullptr) uploads_->offer(result, remote_.damaged());
  return {};
}

Status SharedMemo::foresee(std::span<const Digest> keys) {
  std::vector<Digest> unknown;
  for (const Digest& key : keys) {
    auto here = find_here(key);
    if (!here) return std::move(here).error();
    if (!*here) unknown.push_back(key);
  }
  if (unknown.empty()) return {};
  if (auto flushed = ledger_.flush(); !flushed) return flushed;
  return remote_.foresee(unknown);
}

}  // namespace evolve::cache
