// The policy 'map_elites': the best variant of each cell. The cell depends on the compiler's
// output.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/search/selection/policies.h"
#include "engine/search/space/random.h"

namespace evolve::search {

void keep_elites(Survival& survival) {
  const SelectionRequest& request = survival.request();
  Selection& selection = survival.selection();
  std::map<std::string, std::vector<Ranked*>> cells;
  for (Ranked* candidate : survival.candidates())
    cells[candidate->variant.cell].push_back(candidate);
  std::vector<Ranked*> elites;
  elites.reserve(cells.size());
  for (const auto& [cell, candidates] : cells)
    elites.push_back(survival.ranked(survival.best_of(candidates, 1).front().variant.id));
  std::sort(elites.begin(), elites.end(), [](const Ranked* a, const Ranked* b) {
    return a->score != b->score ? a->score > b->score : a->variant.id < b->variant.id;
  });
  selection.survivors = survival.best_of(elites, survival.rule().most_cells);
  for (Survivor& survivor : selection.survivors)
    survivor.reason = fmt::format("{}: {}", survivor.variant.cell, survivor.reason);
  if (selection.survivors.empty()) return;
  Random random(request.random_seed, static_cast<uint64_t>(request.round));
  for (size_t i = 0; i < request.variants.size(); ++i)
    selection.places.push_back(static_cast<int>(random.below(selection.survivors.size())) + 1);
}

}  // namespace evolve::search
