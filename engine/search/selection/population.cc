#include "engine/search/selection/population.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engine/search/member.h"
#include "engine/search/selection/contest.h"
#include "engine/search/space/random.h"

namespace evolve::search {

namespace {

using nlohmann::json;

double number_of(const json& value) {
  return value.is_number() ? value.get<double>() : 0;
}

int quarter_of(double share) {
  return std::clamp(static_cast<int>(share * 4), 0, 3);
}

// Those of a list of ranked ones that meet a condition.
template <typename Condition>
std::vector<Ranked*> those(const std::vector<Ranked*>& all, Condition condition) {
  std::vector<Ranked*> out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out),
               [&](const Ranked* one) { return condition(one->variant); });
  return out;
}

class Policy {
 public:
  Policy(const SelectionRequest& request, Selection& selection)
      : request_(request),
        rule_(request.rule),
        out_(selection),
        contest_(rule_.by_point ? 0 : selection.resolution, selection.is_relative) {
    for (Ranked& ranked : out_.ranking) {
      if (ranked.variant.is_confirmed && ranked.variant.not_done.empty()) left_.push_back(&ranked);
    }
    out_.lineages_made = request.lineages_made;
  }

  void run() {
    if (rule_.policy == "lineages") {
      keep_lineages();
    } else if (rule_.policy == "islands") {
      keep_islands();
    } else if (rule_.policy == "map_elites") {
      keep_elites();
    } else if (rule_.policy == "pareto") {
      keep_front();
    } else {
      out_.survivors =
          contest_.best_of(left_, static_cast<size_t>(rule_.top_k), out_.ranking.size());
    }
    if (out_.places.empty()) give_places_in_turn();
  }

 private:
  [[nodiscard]] std::vector<Survivor> best_of(const std::vector<Ranked*>& from, int count) const {
    return contest_.best_of(from, static_cast<size_t>(count), from.size());
  }

  [[nodiscard]] Ranked* ranked(const std::string& id) const {
    auto found = std::find_if(left_.begin(), left_.end(),
                              [&](const Ranked* one) { return one->variant.id == id; });
    return found == left_.end() ? nullptr : *found;
  }

  [[nodiscard]] bool is_new(const Evaluated& variant) const {
    return variant.round == request_.round;
  }

  // By score; the first one is the best as a contest has it, ties aside.
  void order_survivors() {
    auto& all = out_.survivors;
    std::stable_sort(all.begin(), all.end(), [](const Survivor& a, const Survivor& b) {
      return a.score != b.score ? a.score > b.score : is_earlier(a.variant.id, b.variant.id);
    });
    std::vector<Ranked*> theirs;
    theirs.reserve(all.size());
    for (const Survivor& one : all) theirs.push_back(ranked(one.variant.id));
    if (theirs.empty()) return;
    const std::string best = best_of(theirs, 1).front().variant.id;
    std::stable_partition(all.begin(), all.end(),
                          [&](const Survivor& one) { return one.variant.id == best; });
  }

  void give_places_in_turn() {
    if (out_.survivors.empty()) return;
    for (size_t i = 0; i < request_.variants.size(); ++i)
      out_.places.push_back(static_cast<int>(i % out_.survivors.size()) + 1);
    shift_places();
  }

  // A round's places are its mutators', always the same ones: so that each of these comes to each
  // survivor, who gets which place moves on by one a round.
  void shift_places() {
    if (out_.places.empty()) return;
    const auto shift = static_cast<size_t>(request_.round - 1) % out_.places.size();
    std::rotate(out_.places.begin(), out_.places.begin() + static_cast<long>(shift),
                out_.places.end());
  }

  // --- lineages

  void keep_lineages() {
    for (const Survivor& lineage : request_.before) out_.survivors.push_back(carried_on(lineage));
    found_lineages();
    end_converged();
    while (static_cast<int>(out_.survivors.size()) > std::max(rule_.most_lineages, 1))
      end_most_stagnant();
    order_survivors();
  }

  // The lineage's best that a variant is a child of: the first of its parents that is one; empty:
  // of none. (A mended variant's first parent is the one that was turned down.)
  [[nodiscard]] std::string lineage_of(const Evaluated& variant) const {
    for (const std::string& parent : variant.parents) {
      for (const Survivor& lineage : request_.before) {
        if (lineage.variant.id == parent) return parent;
      }
    }
    return {};
  }

  // Of the round's best variants those begin a lineage that are of none.
  void found_lineages() {
    const auto round = those(left_, [&](const Evaluated& one) { return is_new(one); });
    for (Survivor& founder : best_of(round, rule_.top_k)) {
      if (!lineage_of(founder.variant).empty()) continue;
      founder.name = fmt::format("L{}", ++out_.lineages_made);
      founder.path = {founder.variant.id};
      out_.survivors.push_back(std::move(founder));
    }
  }

  // A lineage after this round: its best child, or itself.
  [[nodiscard]] Survivor carried_on(const Survivor& lineage) const {
    const std::string& id = lineage.variant.id;
    const Ranked* own = ranked(id);
    const auto children =
        those(left_, [&](const Evaluated& one) { return is_new(one) && lineage_of(one) == id; });
    Survivor out = lineage;
    const std::vector<Survivor> best = best_of(children, 1);
    const Ranked* child = best.empty() ? nullptr : ranked(best.front().variant.id);
    if (child == nullptr || (own != nullptr && !contest_.is_ahead(*child, *own))) {
      ++out.stagnant_rounds;
      out.reason =
          fmt::format("{} stays: no child is faster, for {} rounds", out.name, out.stagnant_rounds);
      return out;
    }
    out.variant = child->variant;
    out.score = child->score;
    out.stagnant_rounds = 0;
    out.path.push_back(child->variant.id);
    out.reason =
        fmt::format("{} from '{}': {:.4g} -> {:.4g}", out.name, id, lineage.score, child->score);
    return out;
  }

  void end(std::vector<Survivor>::iterator lineage, std::string reason) {
    out_.pruned.push_back({*lineage, std::move(reason)});
    out_.survivors.erase(lineage);
  }

  // Of lineages that came to the same program the first one goes on.
  void end_converged() {
    auto& all = out_.survivors;
    for (size_t i = 0; i < all.size(); ++i) {
      for (size_t j = all.size() - 1; j > i; --j) {
        if (is_same(all[i].variant, all[j].variant))
          end(all.begin() + static_cast<long>(j), "same_as_" + all[i].name);
      }
    }
  }

  void end_most_stagnant() {
    auto worse = [](const Survivor& a, const Survivor& b) {
      return a.stagnant_rounds != b.stagnant_rounds ? a.stagnant_rounds < b.stagnant_rounds
                                                    : a.score > b.score;
    };
    auto best =
        std::max_element(out_.survivors.begin(), out_.survivors.end(),
                         [](const Survivor& a, const Survivor& b) { return a.score < b.score; });
    // What is best so far stays, however long nothing was better.
    std::iter_swap(out_.survivors.begin(), best);
    auto worst = std::max_element(out_.survivors.begin() + 1, out_.survivors.end(), worse);
    end(worst, worst->stagnant_rounds == 0
                   ? std::string("below_top_k")
                   : fmt::format("stagnant_{}_rounds", worst->stagnant_rounds));
  }

  // --- islands

  // Its parent's; in the first round the islands are given in turn.
  [[nodiscard]] int island_of_place(size_t place) const {
    const auto& places = request_.places;
    if (place >= places.size()) return static_cast<int>(place) % rule_.islands + 1;
    return request_.before[static_cast<size_t>(places[place] - 1)].island;
  }

  void keep_islands() {
    std::map<std::string, std::set<int>> islands;  // by variant
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
    order_survivors();
    give_places_to_islands();
  }

  [[nodiscard]] std::vector<Survivor> best_on(
      int island, const std::map<std::string, std::set<int>>& islands) const {
    auto out = best_of(those(left_,
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

  // To each island as many, and there to each in turn.
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
    shift_places();
  }

  // --- map_elites

  void keep_elites() {
    std::map<std::string, std::vector<Ranked*>> cells;
    for (Ranked* one : left_) cells[one->variant.cell].push_back(one);
    std::vector<Ranked*> elites;
    elites.reserve(cells.size());
    for (const auto& [cell, its] : cells)
      elites.push_back(ranked(best_of(its, 1).front().variant.id));
    std::sort(elites.begin(), elites.end(), [](const Ranked* a, const Ranked* b) {
      return a->score != b->score ? a->score > b->score : is_earlier(a->variant.id, b->variant.id);
    });
    out_.survivors = best_of(elites, rule_.most_cells);
    for (Survivor& survivor : out_.survivors)
      survivor.reason = fmt::format("{}: {}", survivor.variant.cell, survivor.reason);
    if (out_.survivors.empty()) return;
    Random random(rule_.random_seed, static_cast<uint64_t>(request_.round));
    for (size_t i = 0; i < request_.variants.size(); ++i)
      out_.places.push_back(static_cast<int>(random.below(out_.survivors.size())) + 1);
  }

  // --- pareto

  // Of a case the time by the seed's, and how well it is known, as logarithms.
  [[nodiscard]] std::pair<double, double> standing(const Evaluated& variant,
                                                   const std::string& name) const {
    if (auto ratio = variant.ratios.find(name); ratio != variant.ratios.end())
      return {std::log(ratio->second.value), ratio->second.half_width()};
    const double unit = out_.is_relative ? request_.seed.seconds.at(name) : 1;
    return {std::log(variant.seconds.at(name) / unit), 0};
  }

  // 1: `a` is faster than `b` in the case by more than a tie; -1: slower; 0: a tie.
  [[nodiscard]] int order_in(const std::string& name, const Evaluated& a,
                             const Evaluated& b) const {
    const auto [mean_a, half_a] = standing(a, name);
    const auto [mean_b, half_b] = standing(b, name);
    const double width =
        rule_.by_point ? 0 : std::max(std::log1p(out_.resolution), std::hypot(half_a, half_b));
    if (mean_a < mean_b - width) return 1;
    return mean_a > mean_b + width ? -1 : 0;
  }

  [[nodiscard]] bool beats(const Evaluated& a, const Evaluated& b) const {
    bool is_faster = false;
    for (const BenchCase& one : request_.cases) {
      const int order = order_in(one.name, a, b);
      if (order < 0) return false;
      is_faster = is_faster || order > 0;
    }
    return is_faster;
  }

  void keep_front() {
    // By score: who comes first is beaten by nobody who comes later, ties aside, which are no
    // order.
    std::vector<Ranked*> front;
    for (Ranked* one : left_) {
      if (std::none_of(front.begin(), front.end(),
                       [&](const Ranked* other) { return beats(other->variant, one->variant); }))
        front.push_back(one);
    }
    std::vector<Survivor> all = best_of(front, static_cast<int>(front.size()));
    auto take = [&](size_t number, const std::string& why) {
      all[number].reason = why + all[number].reason;
      out_.survivors.push_back(std::move(all[number]));
      all.erase(all.begin() + static_cast<long>(number));
    };
    if (!all.empty()) take(0, "");
    for (const BenchCase& one : request_.cases) {
      if (all.empty()) break;
      size_t best = 0;
      for (size_t i = 1; i < all.size(); ++i) {
        if (order_in(one.name, all[i].variant, all[best].variant) > 0) best = i;
      }
      const bool is_better = order_in(one.name, all[best].variant, out_.survivors[0].variant) > 0;
      if (is_better) take(best, fmt::format("fastest in {}: ", one.name));
    }
    while (!all.empty()) take(0, "on the front: ");
    if (out_.survivors.size() > static_cast<size_t>(rule_.top_k))
      out_.survivors.resize(static_cast<size_t>(rule_.top_k));
  }

  const SelectionRequest& request_;
  const PopulationRule& rule_;
  Selection& out_;
  Contest contest_;
  std::vector<Ranked*> left_;  // whose times are confirmed, by score
};

}  // namespace

std::vector<std::string> policy_names() {
  return {"top", "lineages", "islands", "map_elites", "pareto"};
}

std::string cell_of(const json& facts) {
  const json& bottleneck = member(facts, "bottleneck");
  const json& vmem = member(facts, "vmem");
  const double capacity = number_of(member(vmem, "capacity_bytes"));
  const double allocated = number_of(member(vmem, "allocated_bytes"));
  double largest = 1;
  for (const json& window : member(vmem, "windows"))
    largest = std::max(largest, number_of(member(window, "window_bytes")));
  return fmt::format("{} vmem-{} mxu-{} block-{}",
                     bottleneck.is_string() ? bottleneck.get<std::string>() : "unknown",
                     quarter_of(capacity > 0 ? allocated / capacity : 0),
                     quarter_of(number_of(member(member(facts, "utilisation"), "mxu"))),
                     static_cast<int>(std::log2(largest)));
}

void populate(const SelectionRequest& request, Selection& selection) {
  Policy(request, selection).run();
}

}  // namespace evolve::search
