#include "engine/search/selection/population.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/core/json_read.h"
#include "engine/search/selection/policies.h"

namespace evolve::search {

namespace {

using nlohmann::json;

struct Policy {
  const char* name;
  void (*keep)(Survival&);
};
constexpr Policy kPolicies[] = {{.name = "top", .keep = keep_best},
                                {.name = "lineages", .keep = keep_lineages},
                                {.name = "islands", .keep = keep_islands},
                                {.name = "map_elites", .keep = keep_elites},
                                {.name = "pareto", .keep = keep_front}};

int quarter_of(double share) {
  return std::clamp(static_cast<int>(share * 4), 0, 3);
}

}  // namespace

void keep_best(Survival& survival) {
  Selection& selection = survival.selection();
  selection.survivors = survival.contest().best_of(
      survival.candidates(), static_cast<size_t>(survival.rule().top_k), selection.ranking.size());
}

std::vector<std::string> policy_names() {
  std::vector<std::string> out;
  for (const Policy& policy : kPolicies) out.emplace_back(policy.name);
  return out;
}

std::string cell_of(const json& facts) {
  const std::string bottleneck = text_at(facts, "bottleneck");
  const json& vmem = member(facts, "vmem");
  const double capacity = number_at(vmem, "capacity_bytes").value_or(0);
  const double allocated = number_at(vmem, "allocated_bytes").value_or(0);
  const double mxu = number_at(member(facts, "utilisation"), "mxu").value_or(0);
  double largest = 1;
  for (const json& window : list_at(vmem, "windows"))
    largest = std::max(largest, number_at(window, "window_bytes").value_or(0));
  return fmt::format("{} vmem-{} mxu-{} block-{}", bottleneck.empty() ? "unknown" : bottleneck,
                     quarter_of(capacity > 0 ? allocated / capacity : 0), quarter_of(mxu),
                     static_cast<int>(std::log2(largest)));
}

void populate(const SelectionRequest& request, Selection& selection) {
  Survival survival(request, selection);
  const Policy* policy =
      std::find_if(std::begin(kPolicies), std::end(kPolicies),
                   [&](const Policy& one) { return one.name == request.rule.policy; });
  (policy == std::end(kPolicies) ? keep_best : policy->keep)(survival);
  if (selection.places.empty()) survival.give_places_in_turn();
}

}  // namespace evolve::search
