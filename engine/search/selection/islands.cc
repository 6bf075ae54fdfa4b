// The policy 'islands': variants compete only with variants of their own island.
#include <fmt/format.h>

#include <map>
#include <set>

#include "engine/search/selection/policies.h"

namespace evolve::search {

namespace {

class Islands {
 public:
  explicit Islands(Survival& survival)
      : survival_(survival),
        request_(survival.request()),
        rule_(survival.rule()),
        out_(survival.selection()) {}

  void run() {
    std::map<VariantId, std::set<int>> islands;
    for (const Survivor& survivor : request_.before)
      islands[survivor.variant.id].insert(survivor.island);
    for (size_t place = 0; place < request_.variants.size(); ++place)
      islands[request_.variants[place].id].insert(island_of_place(place));
    if (request_.before.empty()) {
      for (int island = 1; island <= rule_.islands; ++island)
        islands[request_.seed.id].insert(island);
    }
    std::vector<std::vector<Survivor>> kept;
    for (int island = 1; island <= rule_.islands; ++island)
      kept.push_back(best_on(island, islands));
    if (request_.round % rule_.migration_interval == 0) {
      for (int island = 1; island <= rule_.islands; ++island) {
        const auto& from = kept[static_cast<size_t>(island - 1)];
        if (!from.empty()) islands[from.front().variant.id].insert(island % rule_.islands + 1);
      }
      for (int island = 1; island <= rule_.islands; ++island)
        kept[static_cast<size_t>(island - 1)] = best_on(island, islands);
    }
    for (auto& island : kept)
      out_.survivors.insert(out_.survivors.end(), island.begin(), island.end());
    survival_.order_survivors();
    give_places_to_islands();
  }

 private:
  // Returns the island of a place, which is the island of its parent. In the first round the places
  // go to the islands in turn.
  [[nodiscard]] int island_of_place(size_t place) const {
    const auto& places = request_.places;
    if (place >= places.size()) return static_cast<int>(place) % rule_.islands + 1;
    return request_.before[static_cast<size_t>(places[place] - 1)].island;
  }

  [[nodiscard]] std::vector<Survivor> best_on(
      int island, const std::map<VariantId, std::set<int>>& islands) const {
    auto out =
        survival_.best_of(filtered(survival_.candidates(),
                                   [&](const Evaluated& one) {
                                     auto its = islands.find(one.id);
                                     return its != islands.end() && its->second.contains(island);
                                   }),
                          rule_.top_k);
    for (Survivor& survivor : out) {
      survivor.island = island;
      survivor.reason = fmt::format("island {}: {}", island, survivor.reason);
    }
    return out;
  }

  // Gives the places to the islands in turn, and on each island to its survivors in turn.
  void give_places_to_islands() {
    std::map<int, std::vector<int>> numbers;
    for (size_t i = 0; i < out_.survivors.size(); ++i)
      numbers[out_.survivors[i].island].push_back(static_cast<int>(i) + 1);
    std::vector<std::vector<int>> islands;
    islands.reserve(numbers.size());
    for (auto& [island, its] : numbers) islands.push_back(std::move(its));
    for (size_t place = 0; place < request_.variants.size() && !islands.empty(); ++place) {
      const auto& its = islands[place % islands.size()];
      out_.places.push_back(its[place / islands.size() % its.size()]);
    }
    survival_.shift_places();
  }

  Survival& survival_;
  const SelectionRequest& request_;
  const SelectionRule& rule_;
  Selection& out_;
};

}  // namespace

void keep_islands(Survival& survival) {
  Islands(survival).run();
}

}  // namespace evolve::search
