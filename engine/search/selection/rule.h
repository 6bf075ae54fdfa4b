// The rule by which variants survive a round. The pipeline and the step that selects share this
// record.
#pragma once

#include <string>

namespace evolve::search {

// The members of the rule. population.h describes how each policy uses them.
struct SelectionRule {
  std::string policy = "top";
  int top_k = 1;
  bool by_point = false;  // no ties: scores are compared as they are
  int most_lineages = 4;
  int islands = 4;
  int migration_interval = 5;  // rounds
  int most_cells = 16;

  // The maximum number of survivors of a round.
  [[nodiscard]] int capacity() const {
    if (policy == "lineages") return most_lineages;
    if (policy == "islands") return islands * top_k;
    return policy == "map_elites" ? most_cells : top_k;
  }
};

// The description of a member of the rule.
struct RuleSetting {
  const char* name;         // the key in the pipeline; with dashes, the step's flag
  const char* help = "";    // the flag's
  const char* policy = "";  // the only policy that reads it; empty: all policies
  int most = 0;             // maximum, if it is a number under `select`; 0: it is not
};

// Calls visit(RuleSetting, member) for each member. A new member gets its line here, and is then
// read from the pipeline, written as a flag and read by the step.
template <typename Rule, typename Visit>
void visit_settings(Rule& rule, Visit&& visit) {
  visit(RuleSetting{.name = "policy", .help = "which variants survive"}, rule.policy);
  visit(RuleSetting{.name = "top_k", .help = "how many, or how many of each island"}, rule.top_k);
  visit(RuleSetting{.name = "by_point", .help = "there are no ties"}, rule.by_point);
  visit(RuleSetting{.name = "lineages", .policy = "lineages"}, rule.most_lineages);
  visit(RuleSetting{.name = "islands", .policy = "islands", .most = 100}, rule.islands);
  visit(
      RuleSetting{
          .name = "migration_interval", .help = "rounds", .policy = "islands", .most = 1000},
      rule.migration_interval);
  visit(RuleSetting{.name = "cells", .policy = "map_elites", .most = 1000}, rule.most_cells);
}

}  // namespace evolve::search
