#include "engine/search/selection/survival.h"

namespace evolve::search {

Survival::Survival(const SelectionRequest& request, Selection& selection)
    : request_(request),
      selection_(selection),
      contest_(request.rule.by_point ? 0 : selection.resolution, selection.is_relative) {
  for (Ranked& ranked : selection.ranking) {
    if (ranked.variant.is_confirmed && ranked.variant.not_done.empty())
      candidates_.push_back(&ranked);
  }
  selection.lineages_made = request.lineages_made;
}

std::vector<Survivor> Survival::best_of(const std::vector<Ranked*>& from, int count) const {
  return contest_.best_of(from, static_cast<size_t>(count), from.size());
}

Ranked* Survival::ranked(VariantId id) const {
  auto found = std::find_if(candidates_.begin(), candidates_.end(),
                            [&](const Ranked* one) { return one->variant.id == id; });
  return found == candidates_.end() ? nullptr : *found;
}

void Survival::order_survivors() {
  auto& all = selection_.survivors;
  std::stable_sort(all.begin(), all.end(), [](const Survivor& a, const Survivor& b) {
    return a.score != b.score ? a.score > b.score : a.variant.id < b.variant.id;
  });
  std::vector<Ranked*> survivors;
  survivors.reserve(all.size());
  for (const Survivor& one : all) survivors.push_back(ranked(one.variant.id));
  if (survivors.empty()) return;
  const VariantId best = best_of(survivors, 1).front().variant.id;
  std::stable_partition(all.begin(), all.end(),
                        [&](const Survivor& one) { return one.variant.id == best; });
}

void Survival::give_places_in_turn() {
  if (selection_.survivors.empty()) return;
  for (size_t i = 0; i < request_.variants.size(); ++i)
    selection_.places.push_back(static_cast<int>(i % selection_.survivors.size()) + 1);
  shift_places();
}

void Survival::shift_places() {
  if (selection_.places.empty()) return;
  const auto shift = static_cast<size_t>(request_.round - 1) % selection_.places.size();
  std::rotate(selection_.places.begin(), selection_.places.begin() + static_cast<long>(shift),
              selection_.places.end());
}

}  // namespace evolve::search
