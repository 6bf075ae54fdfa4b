#include "engine/llm/history.h"

#include <algorithm>
#include <set>

namespace evolve::llm {

namespace {

JudgedVariant past_of(const search::PastVariant& variant) {
  const search::ExchangeSummary exchange = variant.exchange.value_or(search::ExchangeSummary());
  return {variant, exchange.model, exchange.cost_usd, exchange.tokens};
}

}  // namespace

double PromptHistory::cost_usd() const {
  double out = 0;
  for (const JudgedVariant& one : entries) out += one.cost_usd;
  return out;
}

int64_t PromptHistory::tokens() const {
  int64_t out = 0;
  for (const JudgedVariant& one : entries) out += one.tokens;
  return out;
}

const JudgedVariant* PromptHistory::find(const std::string& variant) const {
  const auto id = VariantId::parse(variant);
  for (const JudgedVariant& one : entries) {
    if (one.id == id) return &one;
  }
  return nullptr;
}

double PromptHistory::base_score(const std::vector<VariantId>& parents) const {
  double out = 0;
  for (const VariantId parent : parents) {
    auto it = scores.find(parent);
    if (it != scores.end()) out = std::max(out, it->second);
  }
  return out > 0 ? out : 1;
}

std::vector<const JudgedVariant*> PromptHistory::lineage(const std::string& variant) const {
  const auto start = VariantId::parse(variant);
  if (!start) return {};
  std::map<VariantId, const JudgedVariant*> by_id;
  for (const JudgedVariant& one : entries) by_id.emplace(one.id, &one);
  std::set<VariantId> ancestors;
  std::vector<VariantId> left = {*start};
  while (!left.empty()) {
    const VariantId id = left.back();
    left.pop_back();
    if (!ancestors.insert(id).second) continue;
    auto it = by_id.find(id);
    if (it != by_id.end())
      left.insert(left.end(), it->second->parents.begin(), it->second->parents.end());
  }
  std::vector<const JudgedVariant*> out;
  for (const JudgedVariant& one : entries) {
    const bool is_child = std::any_of(one.parents.begin(), one.parents.end(),
                                      [&](VariantId parent) { return ancestors.contains(parent); });
    if (is_child || ancestors.contains(one.id)) out.push_back(&one);
  }
  return out;
}

PromptHistory history_of(const search::History& past,
                         const std::vector<search::Survivor>& survivors) {
  PromptHistory out;
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
