#include "engine/search/selection/population.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/search/member.h"
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

double number_of(const json& value) {
  return value.is_number() ? value.get<double>() : 0;
}

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
  Survival survival(request, selection);
  const Policy* policy =
      std::find_if(std::begin(kPolicies), std::end(kPolicies),
                   [&](const Policy& one) { return one.name == request.rule.policy; });
  (policy == std::end(kPolicies) ? keep_best : policy->keep)(survival);
  if (selection.places.empty()) survival.give_places_in_turn();
}

}  // namespace evolve::search
