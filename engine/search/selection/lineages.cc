// The policy 'lineages': each survivor is the best of a line of descent.
#include <fmt/format.h>

#include <algorithm>

#include "engine/search/selection/policies.h"

namespace evolve::search {

namespace {

class Lineages {
 public:
  explicit Lineages(Survival& survival)
      : survival_(survival),
        request_(survival.request()),
        rule_(survival.rule()),
        out_(survival.selection()) {}

  void run() {
    for (const Survivor& lineage : request_.before) out_.survivors.push_back(carried_on(lineage));
    found_lineages();
    end_converged();
    while (static_cast<int>(out_.survivors.size()) > std::max(rule_.most_lineages, 1))
      end_most_stagnant();
    survival_.order_survivors();
  }

 private:
  // Returns the lineage that a variant belongs to, as the id of the lineage's best variant. A
  // variant belongs to the lineage of its first parent that is a best variant. (The first parent of
  // a repaired variant is the rejected variant.) Nullopt: the variant belongs to no lineage.
  [[nodiscard]] std::optional<VariantId> lineage_of(const Evaluated& variant) const {
    for (const VariantId parent : variant.parents) {
      for (const Survivor& lineage : request_.before) {
        if (lineage.variant.id == parent) return parent;
      }
    }
    return std::nullopt;
  }

  // Starts a lineage with each of the round's best variants that belongs to no lineage.
  void found_lineages() {
    const auto round = filtered(survival_.candidates(), [&](const Evaluated& one) {
      return survival_.is_of_this_round(one);
    });
    for (Survivor& founder : survival_.best_of(round, rule_.top_k)) {
      if (lineage_of(founder.variant)) continue;
      founder.name = fmt::format("L{}", ++out_.lineages_made);
      founder.path = {founder.variant.id};
      out_.survivors.push_back(std::move(founder));
    }
  }

  // Returns a lineage after this round: led by its best child, or unchanged.
  [[nodiscard]] Survivor carried_on(const Survivor& lineage) const {
    const VariantId id = lineage.variant.id;
    const Ranked* own = survival_.ranked(id);
    const auto children = filtered(survival_.candidates(), [&](const Evaluated& one) {
      return survival_.is_of_this_round(one) && lineage_of(one) == id;
    });
    Survivor out = lineage;
    const std::vector<Survivor> best = survival_.best_of(children, 1);
    const Ranked* child = best.empty() ? nullptr : survival_.ranked(best.front().variant.id);
    if (child == nullptr || (own != nullptr && !survival_.contest().is_ahead(*child, *own))) {
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

  // Ends all but the first of several lineages that have the same program.
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
    // The best lineage stays, however long it has been stagnant.
    std::iter_swap(out_.survivors.begin(), best);
    auto worst = std::max_element(out_.survivors.begin() + 1, out_.survivors.end(), worse);
    end(worst, worst->stagnant_rounds == 0
                   ? std::string("below_top_k")
                   : fmt::format("stagnant_{}_rounds", worst->stagnant_rounds));
  }

  Survival& survival_;
  const SelectionRequest& request_;
  const SelectionRule& rule_;
  Selection& out_;
};

}  // namespace

void keep_lineages(Survival& survival) {
  Lineages(survival).run();
}

}  // namespace evolve::search
