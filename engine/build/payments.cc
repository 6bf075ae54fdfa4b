#include "engine/build/payments.h"

namespace evolve {

Payments::~Payments() {
  for (const auto& [action, payer] : paying_) claims_.release(action);
}

Result<Payments::Turn> Payments::enter(EdgeId edge, const Digest& action) {
  auto [payer, is_first] = paying_.try_emplace(action, Payer{edge, {}});
  if (!is_first && payer->second.edge == edge) return Turn::pays;
  if (!is_first) {
    payer->second.joined.push_back(edge);
    return Turn::joins;
  }
  TRY_ASSIGN(auto is_ours, claims_.claim(action));
  if (is_ours) return Turn::pays;
  waiting_.emplace_back(edge, action);
  return Turn::waits;
}

Result<std::optional<EdgeId>> Payments::next_to_pay() {
  for (auto waiting = waiting_.begin(); waiting != waiting_.end(); ++waiting) {
    TRY_ASSIGN(auto is_ours, claims_.claim(waiting->second));
    if (!is_ours) continue;
    const EdgeId edge = waiting->first;
    waiting_.erase(waiting);
    return std::optional(edge);
  }
  return std::optional<EdgeId>{};
}

std::vector<EdgeId> Payments::end(const Digest& action, const ActionResult* result) {
  if (result != nullptr) paid_.insert_or_assign(action, *result);
  claims_.release(action);
  auto payer = paying_.extract(action);
  return payer ? std::move(payer.mapped().joined) : std::vector<EdgeId>{};
}

const ActionResult* Payments::result_of(const Digest& action) const {
  auto found = paid_.find(action);
  return found == paid_.end() ? nullptr : &found->second;
}

}  // namespace evolve
