#include "engine/llm/history.h"

#include <algorithm>
#include <set>

#include "engine/core/json_read.h"

namespace evolve::llm {

namespace {

Past past_of(const search::PastVariant& variant) {
  Past out = {variant, text_at(variant.exchange, "model"), 0, 0};
  out.cost_usd = amount_at(variant.exchange, "cost_usd").value_or(0);
  out.tokens = count_at(variant.exchange, "tokens");
  return out;
}

}  // namespace

double History::cost_usd() const {
  double out = 0;
  for (const Past& one : entries) out += one.cost_usd;
  return out;
}

int64_t History::tokens() const {
  int64_t out = 0;
  for (const Past& one : entries) out += one.tokens;
  return out;
}

const Past* History::find(const std::string& variant) const {
  for (const Past& one : entries) {
    if (one.id == variant) return &one;
  }
  return nullptr;
}

double History::base_score(const std::vector<std::string>& parents) const {
  double out = 0;
  for (const std::string& parent : parents) {
    auto it = scores.find(parent);
    if (it != scores.end()) out = std::max(out, it->second);
  }
  return out > 0 ? out : 1;
}

std::vector<const Past*> History::lineage(const std::string& variant) const {
  std::map<std::string, const Past*> by_name;
  for (const Past& one : entries) by_name.emplace(one.id, &one);
  std::set<std::string> ancestors;
  std::vector<std::string> left = {variant};
  while (!left.empty()) {
    const std::string name = left.back();
    left.pop_back();
    if (!ancestors.insert(name).second) continue;
    auto it = by_name.find(name);
    if (it != by_name.end())
      left.insert(left.end(), it->second->parents.begin(), it->second->parents.end());
  }
  std::vector<const Past*> out;
  for (const Past& one : entries) {
    const bool is_child =
        std::any_of(one.parents.begin(), one.parents.end(),
                    [&](const std::string& parent) { return ancestors.contains(parent); });
    if (is_child || ancestors.contains(one.id)) out.push_back(&one);
  }
  return out;
}

History history_of(const search::History& past, const std::vector<search::Survivor>& survivors) {
  History out;
  for (const search::PastVariant& one : past) {
    out.entries.push_back(past_of(one));
    if (one.score && !one.rejection) out.scores[one.id] = *one.score;
  }
  for (const search::Survivor& one : survivors) {
    out.scores[one.variant.id] = one.score;
    out.elites.push_back({one.variant.id, one.score, one.variant.note});
  }
  return out;
}

}  // namespace evolve::llm
