// Tests of the record of a selection rule, which the pipeline, the manifest and the step share.
#include "engine/search/selection/rule.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/campaign/generator/round_select.h"
#include "engine/search/selection/population.h"
#include "tests/catch.h"

using namespace evolve;
using search::RuleSetting;
using search::SelectionRule;

namespace {

// Returns a rule in which all numbers differ.
SelectionRule rule_of(const std::string& policy) {
  SelectionRule out;
  out.policy = policy;
  out.top_k = 2;
  out.most_lineages = 3;
  out.islands = 5;
  out.migration_interval = 7;
  out.most_cells = 11;
  return out;
}

std::vector<RuleSetting> settings() {
  std::vector<RuleSetting> out;
  SelectionRule rule;
  search::visit_settings(rule, [&](const RuleSetting& setting, auto&) { out.push_back(setting); });
  return out;
}

// Converts to the type of any member of an aggregate.
struct AnyValue {
  template <typename Value>
  operator Value() const;
};

// Returns the number of members of an aggregate: the most values that can initialise it.
template <typename Aggregate, typename... Values>
consteval size_t member_count() {
  if constexpr (requires { Aggregate{Values{}..., AnyValue{}}; })
    return member_count<Aggregate, Values..., AnyValue>();
  else
    return sizeof...(Values);
}

}  // namespace

TEST_CASE("each member of a selection rule is a setting, and is visited once") {
  const SelectionRule rule;
  size_t visits = 0;
  std::set<const void*> visited;
  search::visit_settings(rule, [&](const RuleSetting&, const auto& value) {
    ++visits;
    visited.insert(&value);
  });
  CHECK(visited.size() == visits);
  CHECK(visits == member_count<SelectionRule>());
}

TEST_CASE("a visitor's change of a setting is in the rule") {
  SelectionRule rule;
  search::visit_settings(rule, [](const RuleSetting& setting, auto& value) {
    if constexpr (std::is_same_v<decltype(value), int&>) {
      if (std::string(setting.name) == "cells") value = 9;
    }
  });
  rule.policy = "map_elites";
  CHECK(rule.capacity() == 9);
  CHECK(rule.islands == SelectionRule{}.islands);
}

TEST_CASE("how many may survive a round depends on the policy") {
  const std::map<std::string, int> capacities = {
      {"top", 2}, {"lineages", 3}, {"islands", 5 * 2}, {"map_elites", 11}, {"pareto", 2}};
  std::set<std::string> policies;
  for (const auto& [policy, capacity] : capacities) {
    INFO(policy);
    CHECK(rule_of(policy).capacity() == capacity);
    policies.insert(policy);
  }
  const auto known = search::policy_names();
  CHECK(policies == std::set<std::string>(known.begin(), known.end()));
}

TEST_CASE("a rule's settings have names of their own, which can be keys and flags") {
  std::set<std::string> names;
  for (const RuleSetting& setting : settings()) {
    const std::string name = setting.name;
    INFO(name);
    CHECK(names.insert(name).second);
    REQUIRE_FALSE(name.empty());
    CHECK(std::all_of(name.begin(), name.end(),
                      [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; }));
    CHECK(name.front() != '_');
  }
}

TEST_CASE("a setting belongs to all policies, or to an existing policy") {
  const auto known = search::policy_names();
  for (const RuleSetting& setting : settings()) {
    const std::string policy = setting.policy;
    INFO(setting.name);
    CHECK((policy.empty() || std::find(known.begin(), known.end(), policy) != known.end()));
  }
}

TEST_CASE("what a policy reads becomes flags of the step that selects, and no more") {
  CampaignShape shape;
  shape.pipeline.session.max_iterations = 1;
  shape.pipeline.batch.variants_per_round = 1;
  shape.pipeline.mutate.random_seed = 13;
  auto flags = [&](const SelectionRule& rule) {
    shape.pipeline.select = rule;
    StepText text(true, {});
    write_select(shape, 1, {}, text);
    const std::string before = "--round 1 ", after = " --variants ";
    const size_t begin = text.text().find(before) + before.size();
    return text.text().substr(begin, text.text().find(after) - begin);
  };
  const auto [policy, expected] = GENERATE(table<const char*, const char*>({
      {"top", "--policy top --top-k 2"},
      {"lineages", "--policy lineages --top-k 2 --lineages 3"},
      {"islands", "--policy islands --top-k 2 --islands 5 --migration-interval 7"},
      {"map_elites", "--policy map_elites --top-k 2 --cells 11 --random-seed 13"},
      {"pareto", "--policy pareto --top-k 2"},
  }));
  SelectionRule rule = rule_of(policy);
  CHECK(flags(rule) == expected);
  rule.by_point = true;
  CHECK(flags(rule).find("--top-k 2 --by-point") != std::string::npos);
}
