// What a campaign has tried so far, as models are shown it and chosen by: the search's history, and
// what it says of exchanges.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/search/history/history.h"

namespace evolve::llm {

// A variant that was judged.
struct Past : search::PastVariant {
  std::string model;  // empty where no model proposed it
  double cost_usd = 0;
  int64_t tokens = 0;
};

// One that survived, of any lineage.
struct Elite {
  std::string variant;
  double score = 0;
  std::string note;
  std::string source = {};  // empty: it is not shown
};

struct History {
  std::vector<Past> entries;             // the oldest first
  std::vector<Elite> elites;             // the best first
  std::map<std::string, double> scores;  // by variant, wherever one is told

  // What the campaign has spent.
  [[nodiscard]] double cost_usd() const;
  [[nodiscard]] int64_t tokens() const;
  [[nodiscard]] const Past* find(const std::string& variant) const;
  // The best score among the parents, or the seed's, 1, where none has one.
  [[nodiscard]] double base_score(const std::vector<std::string>& parents) const;
  // The variant, its ancestors and all their children, the oldest first.
  [[nodiscard]] std::vector<const Past*> lineage(const std::string& variant) const;
};

History history_of(const search::History& past, const std::vector<search::Survivor>& survivors);

}  // namespace evolve::llm
