#include "engine/llm/history.h"

#include <algorithm>
#include <set>

#include "engine/llm/members.h"

namespace evolve::llm {

namespace {

using nlohmann::json;
using search::member;

Past read_past(const json& from) {
  Past out;
  out.variant = text_at(from, "variant");
  out.round = count_at(from, "round");
  out.mutator = text_at(from, "mutator");
  const json& exchange = member(from, "exchange");
  out.model = text_at(exchange, "model");
  out.parents = texts_at(from, "parents");
  out.note = text_at(from, "note");
  out.score = amount_at(from, "score");
  const json& why = member(from, "rejection");
  if (why.is_object()) {
    out.rejection = Rejection{text_at(why, "step"), text_at(why, "case"), text_at(why, "kind"),
                              text_at(why, "reason")};
  }
  out.cost_usd = amount_at(exchange, "cost_usd").value_or(0);
  out.tokens = count_at(exchange, "tokens");
  out.learnings = texts_at(exchange, "learnings");
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
    if (one.variant == variant) return &one;
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
  for (const Past& one : entries) by_name.emplace(one.variant, &one);
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
    if (is_child || ancestors.contains(one.variant)) out.push_back(&one);
  }
  return out;
}

History read_history(const json& selection) {
  History out;
  for (const json& one : list_at(selection, "history")) {
    if (one.is_object()) out.entries.push_back(read_past(one));
  }
  for (const char* list : {"ranking", "survivors"}) {
    for (const json& one : list_at(selection, list)) {
      const std::string variant = text_at(one, "variant");
      const auto score = amount_at(one, "score");
      if (variant.empty() || !score) continue;
      out.scores[variant] = *score;
      if (list == std::string_view("survivors"))
        out.elites.push_back({variant, *score, text_at(one, "note")});
    }
  }
  for (const Past& one : out.entries) {
    if (one.score && !one.rejection) out.scores.emplace(one.variant, *one.score);
  }
  return out;
}

}  // namespace evolve::llm
