// What a campaign has tried so far: its selection.json, with the lines of history.jsonl as the list
// `history`. All of it is read leniently: without a history nothing was tried yet.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace evolve::llm {

struct Rejection {
  std::string step, case_name, kind, reason;
};

// A variant that was judged.
struct Past {
  std::string variant;
  int64_t round = 0;
  std::string mutator;
  std::string model;  // empty where no model proposed it
  std::vector<std::string> parents;
  std::string note;
  std::optional<double> score;  // the speedup over the seed
  std::optional<Rejection> rejection;
  double cost_usd = 0;
  int64_t tokens = 0;
  std::vector<std::string> learnings;
};

// One that survived, of any lineage.
struct Elite {
  std::string variant;
  double score = 0;
  std::string note;
};

struct History {
  std::vector<Past> entries;             // in the order of the file: the oldest first
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

History read_history(const nlohmann::json& selection);

}  // namespace evolve::llm
