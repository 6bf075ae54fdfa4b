// The history as language models need it: the search's history, with the model and cost of each
// exchange. Prompts show it, and the choice of a model depends on it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/search/history/history.h"

namespace evolve::llm {

// A variant that was judged.
struct JudgedVariant : search::PastVariant {
  std::string model;  // empty: no model proposed the variant
  double cost_usd = 0;
  int64_t tokens = 0;
};

// A variant that survived, of any lineage.
struct Elite {
  VariantId id;
  double score = 0;
  std::string note;
  std::string source = {};  // empty: not shown
};

struct PromptHistory {
  std::vector<JudgedVariant> entries;  // the oldest first
  std::vector<Elite> elites;           // the best first
  std::map<VariantId, double> scores;  // only variants with a score

  // Returns the campaign's total so far, in USD and in tokens.
  [[nodiscard]] double cost_usd() const;
  [[nodiscard]] int64_t tokens() const;
  [[nodiscard]] const JudgedVariant* find(const std::string& variant) const;
  // Returns the best score among the parents. If no parent has a score, returns 1, the score of the
  // seed.
  [[nodiscard]] double base_score(const std::vector<VariantId>& parents) const;
  // Returns the variant, its ancestors and all their children, the oldest first.
  [[nodiscard]] std::vector<const JudgedVariant*> lineage(const std::string& variant) const;
};

PromptHistory history_of(const search::History& past,
                         const std::vector<search::Survivor>& survivors);

}  // namespace evolve::llm
