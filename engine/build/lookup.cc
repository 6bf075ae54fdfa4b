#include "engine/build/lookup.h"

#include <algorithm>

#include "engine/core/key_change.h"

namespace evolve {

namespace {

// Adds to a result the parts of its key, which the memo does not keep.
ActionResult with_parts(ActionResult result, const KeyWriter& key) {
  result.parts = key.parts();
  return result;
}

}  // namespace

Lookup::Lookup(Graph& graph, Files& files, Memo& memo, Ledger& ledger, Snapshot& snapshot,
               BuildContext context)
    : graph_(graph),
      ledger_(ledger),
      snapshot_(snapshot),
      context_(std::move(context)),
      files_(graph, files, snapshot, context_.machine),
      keys_(graph, files_, context_),
      results_(graph, memo, ledger),
      settled_(graph.edge_count()) {}

bool Lookup::has_new_input(EdgeId id) const {
  auto inputs = graph_.edge(id).content_inputs();
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](NodeId node) { return files_.is_always_new(node); });
}

Result<bool> Lookup::is_settled(EdgeId id) {
  if (index(id) < settled_.size() && settled_[index(id)]) return true;
  auto is_same = is_unchanged(id);
  if (!is_same) return is_same;
  if (rule_ != nullptr) {
    TRY_ASSIGN(auto judgement, rule_->judge(id, *is_same));
    return judgement.reason ? false : adopt(id, judgement);
  }
  if (*is_same) note_settled(id);
  return is_same;
}

Result<bool> Lookup::is_unchanged(EdgeId id) {
  const auto before = snapshot_.edge(id);
  if (!before) return false;
  if (has_new_input(id) || !std::all_of(before->discovered.begin(), before->discovered.end(),
                                        [&](NodeId node) { return files_.knows(node); })) {
    return false;
  }
  TRY_ASSIGN(auto key, keys_.quick(id, before->discovered));
  if (key != before->key || !results_.may_stand(id, key)) return false;
  for (NodeId output : graph_.edge(id).outputs) {
    const FileState* old = snapshot_.file(output);
    if (old == nullptr) return false;
    const Digest content = old->content;
    TRY_ASSIGN(auto now, files_.look(output));
    if (!now || now->content != content) return false;
  }
  return true;
}

void Lookup::note_settled(EdgeId id) {
  for (NodeId output : graph_.edge(id).outputs) {
    files_.set_digest(output, snapshot_.file(output)->content);
  }
  if (index(id) >= settled_.size()) settled_.resize(graph_.edge_count());
  settled_[index(id)] = true;
}

Result<bool> Lookup::adopt(EdgeId id, const Judgement& judgement) {
  if (has_new_input(id)) return false;
  for (NodeId output : graph_.edge(id).outputs) {
    TRY_ASSIGN(auto state, files_.look(output));
    if (!state) return false;
  }
  // If the snapshot already has an entry from a run on this machine, that entry is kept, because
  // judged by content the edge may be out of date.
  if (!snapshot_.edge(id)) {
    TRY_ASSIGN(auto key, keys_.quick(id, judgement.discovered));
    snapshot_.set_edge(id, {key, judgement.seconds, judgement.discovered});
  }
  note_settled(id);
  return true;
}

std::optional<std::vector<NodeId>> Lookup::discovered(EdgeId id) const {
  auto settled = snapshot_.edge(id);
  if (!settled) return std::nullopt;
  std::vector<NodeId> out;
  for (NodeId node : settled->discovered) {
    if (!is_binding(graph_.node(node).path, context_.machine)) out.push_back(node);
  }
  return out;
}

Status Lookup::settle(EdgeId id, const ActionResult& result) {
  std::vector<NodeId> discovered;
  discovered.reserve(result.discovered.size());
  for (const std::string& path : result.discovered)
    discovered.push_back(files_.discovered_node(path));
  snapshot_.set_edge(id, {result.key, static_cast<float>(result.seconds), discovered});
  return rule_ == nullptr ? Status{} : rule_->ran(id, result);
}

Result<std::optional<KeyWriter>> Lookup::key_to_ask(EdgeId id) {
  const Edge& edge = graph_.edge(id);
  const bool is_whole = !edge.dyndep || graph_.is_dyndep_loaded(*edge.dyndep);
  auto inputs = edge.content_inputs();
  if (edge.is_phony() || !is_whole || has_new_input(id) ||
      !std::all_of(inputs.begin(), inputs.end(), [&](NodeId node) { return files_.knows(node); })) {
    return std::optional<KeyWriter>{};
  }
  TRY_ASSIGN(auto is_up_to_date, is_settled(id));
  if (is_up_to_date) return std::optional<KeyWriter>{};
  TRY_ASSIGN(auto key, keys_.declared(id));
  return std::optional(std::move(key));
}

Status Lookup::look_ahead(BuildPlan& plan) {
  if (!results_.is_far() || rule_ != nullptr) return {};
  foreseen_.resize(graph_.edge_count());
  const auto first = plan.next_ready();
  if (!first || foreseen_[index(*first)]) return {};
  std::vector<std::pair<EdgeId, KeyWriter>> asked;
  std::vector<Digest> keys;
  for (EdgeId id : plan.all_ready()) {
    if (foreseen_[index(id)]) continue;
    foreseen_[index(id)] = true;
    TRY_ASSIGN(auto key, key_to_ask(id));
    if (!key) continue;
    keys.push_back(key->key());
    asked.emplace_back(id, *std::move(key));
  }
  if (keys.empty()) return {};
  TRY(results_.foresee(keys));
  // The memo may have a list of discovered inputs under a declared key. Then these inputs are part
  // of the key of the result.
  keys.clear();
  for (const auto& [id, declared] : asked) {
    TRY_ASSIGN(auto discovered, discovered_by(declared.key()));
    const bool are_known = std::all_of(discovered.begin(), discovered.end(), [&](const auto& path) {
      return files_.knows(files_.discovered_node(path));
    });
    if (discovered.empty() || !are_known) continue;
    TRY_ASSIGN(auto full, keys_.full(id, declared, discovered));
    keys.push_back(full.key());
  }
  return keys.empty() ? Status{} : results_.foresee(keys);
}

Result<LookedUpEdge> Lookup::find(EdgeId id) {
  TRY_ASSIGN(auto declared, keys_.declared(id));
  LookedUpEdge finding;
  finding.declared = std::move(declared);
  for (NodeId input : graph_.edge(id).content_inputs()) {
    if (files_.is_always_new(input)) finding.dirty.push_back(input);
  }
  const bool may_be_reused = finding.dirty.empty() && rule_ == nullptr;
  // The result of a run that discovered no inputs is stored under the declared key.
  TRY_ASSIGN(auto plain, results_.find(id, finding.declared.key()));
  if (plain) {
    finding.full = finding.declared;
    if (may_be_reused) finding.result = with_parts(*std::move(plain), finding.declared);
    return finding;
  }
  TRY_ASSIGN(auto discovered, discovered_by(finding.declared.key()));
  for (const std::string& path : discovered) {
    const NodeId node = files_.discovered_node(path);
    if (!files_.knows(node)) finding.unmade.push_back(node);
  }
  if (!finding.unmade.empty()) return finding;
  TRY_ASSIGN(auto full, keys_.full(id, finding.declared, discovered));
  finding.full = std::move(full);
  if (!may_be_reused) return finding;
  TRY_ASSIGN(auto result, results_.find(id, finding.full->key()));
  if (result) finding.result = with_parts(*std::move(result), *finding.full);
  return finding;
}

Result<std::vector<std::string>> Lookup::discovered_by(const Digest& declared_key) {
  auto discovered = results_.discovered(declared_key);
  if (!discovered || !results_.is_far()) return discovered;
  // A list from another machine is useless if it names a file that cannot be looked at here.
  for (const std::string& path : *discovered) {
    const NodeId node = files_.discovered_node(path);
    if (is_binding(path, context_.machine) || graph_.node(node).made_by) continue;
    if (!files_.look(node)) return std::vector<std::string>{};
  }
  return discovered;
}

Result<std::vector<Reason>> Lookup::reasons(EdgeId edge, const LookedUpEdge& finding) {
  using Kind = Reason::Kind;
  auto only = [](Kind kind) { return std::vector<Reason>{{.kind = kind}}; };
  if (rule_ != nullptr && finding.dirty.empty()) {
    TRY_ASSIGN(auto judgement, rule_->judge(edge, false));
    std::vector<Reason> out;
    if (judgement.reason) out.push_back(*judgement.reason);
    return out;
  }
  TRY_ASSIGN(auto last, ledger_.last_record(keys_.record_name(edge)));
  if (!last) return only(Kind::never_built);
  if (last->outcome == Outcome::failed) return only(Kind::failed_last);
  std::vector<Reason> out;
  for (NodeId node : finding.dirty)
    out.push_back({.kind = Kind::always_new, .words = graph_.path(node)});
  if (!out.empty()) return out;
  const KeyWriter& now = finding.full ? *finding.full : finding.declared;
  std::vector<KeyPart> before = last->result.parts;
  auto is_discovered = [](const KeyPart& part) { return part.tag == "discovered"; };
  if (std::none_of(now.parts().begin(), now.parts().end(), is_discovered)) {
    // The inputs that the edge will discover are not known yet, so none of them counts as gone.
    std::erase_if(before, is_discovered);
  }
  for (KeyChange& change : changes_between(before, now.parts())) {
    change.name = keys_.with_paths(edge, std::move(change.name));
    out.push_back({.kind = Kind::changed,
                   .part = change.tag,
                   .words = keys_.with_paths(edge, text_of(change))});
  }
  if (out.empty() && before != now.parts()) {
    out.push_back({.kind = Kind::changed, .part = "input", .words = "inputs in a different order"});
  }
  return out.empty() ? only(Kind::result_gone) : out;
}

}  // namespace evolve
