#include "engine/build/lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "engine/core/key_change.h"

namespace evolve {

namespace {

// The memo keeps no parts.
ActionResult with_parts(ActionResult result, const KeyWriter& key) {
  result.parts = key.parts();
  return result;
}

}  // namespace

Lookup::Lookup(Graph& graph, Files& files, Memo& memo, Ledger& ledger, Snapshot& snapshot,
               Surroundings surroundings)
    : graph_(graph),
      files_(files),
      memo_(memo),
      ledger_(ledger),
      snapshot_(snapshot),
      surroundings_(std::move(surroundings)),
      digests_(graph.node_count()),
      dirty_(graph.node_count()),
      settled_(graph.edge_count()) {}

std::optional<Digest> Lookup::known_digest(NodeId node) const {
  if (index(node) >= digests_.size() || digests_[index(node)] == Digest{}) return std::nullopt;
  return digests_[index(node)];
}

bool Lookup::knows(NodeId node) const {
  return !graph_.node(node).made_by || known_digest(node);
}

void Lookup::set_digest(NodeId node, const Digest& digest) {
  // Nodes come up late: discovered files, and what dyndep files name.
  if (index(node) >= digests_.size())
    digests_.resize(std::max(index(node) + 1, graph_.node_count()));
  digests_[index(node)] = digest;
  if (index(node) < discovered_parts_.size()) discovered_parts_[index(node)] = {};
}

Result<std::optional<FileState>> Lookup::look(NodeId node) {
  const Node& its = graph_.node(node);
  const FileState* before = snapshot_.file(node);
  path_.assign(its.path);
  auto state = files_.look(path_, before);
  if (!state) return state;
  // What an edge gave is not there any more: the note that it was up to date is worth nothing.
  bool is_other = before != nullptr && (!*state || (*state)->content != before->content);
  if (is_other && its.made_by) snapshot_.forget(*its.made_by);
  if (*state) snapshot_.set_file(node, **state);
  return state;
}

void Lookup::set_state(NodeId node, const FileState& state) {
  snapshot_.set_file(node, state);
  set_digest(node, state.content);
}

Result<Digest> Lookup::digest(NodeId node, EdgeId needed_by) {
  if (auto known = known_digest(node)) return *known;
  TRY_ASSIGN(auto content, source_digest(node));
  if (!content) {
    return bad_input(fmt::format("'{}', needed by '{}', missing and no known rule to make it",
                                 graph_.path(node),
                                 graph_.path(graph_.edge(needed_by).outputs.front())));
  }
  set_digest(node, *content);
  return *content;
}

Result<std::optional<Digest>> Lookup::source_digest(NodeId node) {
  TRY_ASSIGN(auto state, look(node));
  const bool is_folder = state && state->content == folder_digest();
  if (!graph_.node(node).made_by && !is_folder) note_source(node, state, false);
  if (!state) return std::optional<Digest>{};
  if (state->content != folder_digest() || graph_.node(node).made_by) {
    return std::optional(state->content);
  }
  folders_.insert(node);
  TRY_ASSIGN(auto names, files_.read(graph_.path(node)));
  return std::optional(digest_of(names));
}

std::vector<std::pair<std::string, std::string>> Lookup::declared_environment(EdgeId edge) const {
  std::vector<std::pair<std::string, std::string>> out;
  const std::string declared = graph_.extension(edge, "environment");
  if (declared.empty()) return out;
  std::istringstream names(declared);
  for (std::string name; names >> name;) {
    auto it = surroundings_.environment.find(name);
    out.emplace_back(name, it == surroundings_.environment.end() ? "" : it->second);
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> Lookup::secrets(EdgeId edge) const {
  std::vector<std::pair<std::string, std::string>> out;
  std::istringstream names(graph_.extension(edge, "secrets"));
  for (std::string name; names >> name;) {
    auto it = surroundings_.environment.find(name);
    if (it != surroundings_.environment.end()) out.emplace_back(*it);
  }
  return out;
}

bool Lookup::is_dirty(NodeId node) const {
  return index(node) < dirty_.size() && dirty_[index(node)];
}

Status Lookup::settle_phony(EdgeId id) {
  const Edge& edge = graph_.edge(id);
  Hasher hasher;
  bool has_dirty = false;
  for (NodeId input : edge.content_inputs()) {
    TRY_ASSIGN(auto input_digest, digest(input, id));
    hasher.add(input_digest.hex());
    has_dirty = has_dirty || is_dirty(input);
  }
  const bool is_bare = edge.inputs.empty() && edge.validations.empty();
  for (NodeId output : edge.outputs) {
    Result<std::optional<FileState>> file = std::optional<FileState>{};
    if (is_bare) file = look(output);
    if (!file) return std::move(file).error();
    if (*file) hasher.add((*file)->content.hex());
    if (!has_dirty && (!is_bare || *file)) continue;
    if (index(output) >= dirty_.size()) dirty_.resize(graph_.node_count());
    dirty_[index(output)] = true;
  }
  for (NodeId output : edge.outputs) set_digest(output, hasher.digest());
  return {};
}

Status Lookup::read_inputs(EdgeId id) {
  inputs_.content.clear();
  for (NodeId input : graph_.edge(id).content_inputs()) {
    TRY_ASSIGN(auto input_digest, digest(input, id));
    inputs_.content.push_back(input_digest);
  }
  inputs_.environment = declared_environment(id);
  return {};
}

Result<Digest> Lookup::quick_key(EdgeId id, std::span<const NodeId> discovered) {
  TRY(read_inputs(id));
  quick_.clear();
  write_key(graph_, id, inputs_, surroundings_.machine, quick_);
  for (NodeId node : discovered) {
    TRY_ASSIGN(auto part, discovered_part(node));
    quick_.add(part);
  }
  return quick_.key();
}

bool Lookup::has_dirty_input(EdgeId id) const {
  auto inputs = graph_.edge(id).content_inputs();
  return std::any_of(inputs.begin(), inputs.end(), [&](NodeId node) { return is_dirty(node); });
}

Result<bool> Lookup::is_settled(EdgeId id) {
  if (index(id) < settled_.size() && settled_[index(id)]) return true;
  auto is_same = is_unchanged(id);
  if (!is_same) return is_same;
  if (rule_ != nullptr) {
    TRY_ASSIGN(auto judgement, rule_->judge(id, *is_same));
    return judgement.reason.empty() ? adopt(id, judgement) : false;
  }
  if (*is_same) note_settled(id);
  return is_same;
}

Result<bool> Lookup::is_unchanged(EdgeId id) {
  const auto before = snapshot_.edge(id);
  if (!before) return false;
  if (has_dirty_input(id) || !std::all_of(before->discovered.begin(), before->discovered.end(),
                                          [&](NodeId node) { return knows(node); })) {
    return false;
  }
  TRY_ASSIGN(auto key, quick_key(id, before->discovered));
  if (key != before->key || (is_tentative(id) && !is_confirmed(key))) return false;
  for (NodeId output : graph_.edge(id).outputs) {
    const FileState* old = snapshot_.file(output);
    if (old == nullptr) return false;
    const Digest content = old->content;
    TRY_ASSIGN(auto now, look(output));
    if (!now || now->content != content) return false;
  }
  return true;
}

void Lookup::note_settled(EdgeId id) {
  for (NodeId output : graph_.edge(id).outputs) {
    set_digest(output, snapshot_.file(output)->content);
  }
  if (index(id) >= settled_.size()) settled_.resize(graph_.edge_count());
  settled_[index(id)] = true;
}

Result<bool> Lookup::adopt(EdgeId id, const Judgement& judgement) {
  if (has_dirty_input(id)) return false;
  for (NodeId output : graph_.edge(id).outputs) {
    TRY_ASSIGN(auto state, look(output));
    if (!state) return false;
  }
  // What is recorded of a run here stays: by content the edge may not be up to date.
  if (!snapshot_.edge(id)) {
    TRY_ASSIGN(auto key, quick_key(id, judgement.discovered));
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
    if (!is_binding(graph_.node(node).path, surroundings_.machine)) out.push_back(node);
  }
  return out;
}

Status Lookup::settle(EdgeId id, const ActionResult& result) {
  std::vector<NodeId> discovered;
  discovered.reserve(result.discovered.size());
  for (const std::string& path : result.discovered) discovered.push_back(node_of(path));
  snapshot_.set_edge(id, {result.key, static_cast<float>(result.seconds), discovered});
  return rule_ == nullptr ? Status{} : rule_->ran(id, result);
}

Result<KeyWriter> Lookup::declared_key(EdgeId id) {
  TRY(read_inputs(id));
  KeyWriter key;
  write_key(graph_, id, inputs_, surroundings_.machine, key);
  return key;
}

Result<std::optional<KeyWriter>> Lookup::key_to_ask(EdgeId id) {
  const Edge& edge = graph_.edge(id);
  const bool is_whole = !edge.dyndep || graph_.is_dyndep_loaded(*edge.dyndep);
  auto inputs = edge.content_inputs();
  if (edge.is_phony() || !is_whole || has_dirty_input(id) ||
      !std::all_of(inputs.begin(), inputs.end(), [&](NodeId node) { return knows(node); })) {
    return std::optional<KeyWriter>{};
  }
  TRY_ASSIGN(auto is_up_to_date, is_settled(id));
  if (is_up_to_date) return std::optional<KeyWriter>{};
  TRY_ASSIGN(auto key, declared_key(id));
  return std::optional(std::move(key));
}

Status Lookup::look_ahead(Plan& plan) {
  if (!is_memo_far_ || rule_ != nullptr) return {};
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
  TRY(memo_.foresee(keys));
  // What stands under a declared key may be the inputs that a run discovered, and with those the
  // key of its result.
  keys.clear();
  for (const auto& [id, declared] : asked) {
    TRY_ASSIGN(auto discovered, discovered_by(declared.key()));
    const bool are_known = std::all_of(discovered.begin(), discovered.end(),
                                       [&](const auto& path) { return knows(node_of(path)); });
    if (discovered.empty() || !are_known) continue;
    TRY_ASSIGN(auto full, full_key(id, declared, discovered));
    keys.push_back(full.key());
  }
  return keys.empty() ? Status{} : memo_.foresee(keys);
}

Result<Finding> Lookup::find(EdgeId id) {
  TRY_ASSIGN(auto declared, declared_key(id));
  Finding finding;
  finding.declared = std::move(declared);
  for (NodeId input : graph_.edge(id).content_inputs()) {
    if (is_dirty(input)) finding.dirty.push_back(input);
  }
  const bool may_be_reused = finding.dirty.empty() && rule_ == nullptr;
  // A run that discovered nothing is found at once.
  TRY_ASSIGN(auto plain, stored(id, finding.declared.key()));
  if (plain) {
    finding.full = finding.declared;
    if (may_be_reused) finding.result = with_parts(*std::move(plain), finding.declared);
    return finding;
  }
  TRY_ASSIGN(auto discovered, discovered_by(finding.declared.key()));
  for (const std::string& path : discovered) {
    const NodeId node = node_of(path);
    if (!knows(node)) finding.unmade.push_back(node);
  }
  if (!finding.unmade.empty()) return finding;
  TRY_ASSIGN(auto full, full_key(id, finding.declared, discovered));
  finding.full = std::move(full);
  if (!may_be_reused) return finding;
  TRY_ASSIGN(auto result, stored(id, finding.full->key()));
  if (result) finding.result = with_parts(*std::move(result), *finding.full);
  return finding;
}

Lookup::Source Lookup::note_source(NodeId node, const std::optional<FileState>& now,
                                   bool is_strict) {
  auto [known, is_first] = sources_.try_emplace(node, Source{now, moment_ + 1, 0});
  Source& source = known->second;
  const std::optional<FileState> before = source.state;
  bool is_other = before.has_value() != now.has_value();
  if (before && now) {
    const bool are_dated = before->changed != 0 && now->changed != 0;
    is_other = before->content != now->content ||
               (is_strict && are_dated && before->changed != now->changed);
  }
  if (is_first || is_other) ++moment_;
  if (is_other) {
    source = {now, source.first_moment, moment_};
    set_digest(node, now ? now->content : Digest{});
  }
  return source;
}

Result<std::optional<NodeId>> Lookup::changed_since(EdgeId id,
                                                    std::span<const std::string> discovered,
                                                    const Since& since, bool is_strict) {
  auto inputs = graph_.edge(id).content_inputs();
  std::vector<NodeId> read(inputs.begin(), inputs.end());
  for (const std::string& path : discovered) {
    if (!is_binding(path, surroundings_.machine)) read.push_back(node_of(path));
  }
  std::optional<NodeId> changed;
  for (NodeId node : read) {
    // A folder is as the command left it (declared_after).
    if (graph_.node(node).made_by || folders_.contains(node)) continue;
    TRY_ASSIGN(auto now, look(node));
    const Source source = note_source(node, now, is_strict);
    // Of what was not looked at before nobody knows what lay there when the command began.
    const bool is_new = source.first_moment > since.moment && source.state;
    const bool is_other = source.other_moment > since.moment ||
                          (is_strict && is_new && source.state->changed >= since.started);
    if (is_other && !changed) changed = node;
  }
  return changed;
}

Status Lookup::rekey(EdgeId id, ActionResult& result) {
  TRY_ASSIGN(auto declared, declared_key(id));
  TRY_ASSIGN(auto full, full_key(id, declared, result.discovered));
  result.declared_key = declared.key();
  result.key = full.key();
  result.parts = full.parts();
  return {};
}

NodeId Lookup::node_of(const std::string& discovered) {
  // Stands in the graph under its symbolic name, and is no file.
  if (is_binding(discovered, surroundings_.machine)) return graph_.node(discovered);
  return graph_.node(machine_path(discovered, surroundings_.machine));
}

Result<std::string> Lookup::discovered_value(NodeId node) {
  if (auto known = known_digest(node)) return known->hex();
  const std::string_view path = graph_.node(node).path;
  if (is_binding(path, surroundings_.machine)) {
    return machine_path(path, surroundings_.machine);
  }
  TRY_ASSIGN(auto content, source_digest(node));
  if (!content) return std::string("missing");
  // A made file's digest is known once its edge has ended, and not by what lies there before.
  if (!graph_.node(node).made_by) set_digest(node, *content);
  return (content)->hex();
}

Result<KeyWriter> Lookup::declared_after(EdgeId id, const KeyWriter& before,
                                         std::span<const std::string> discovered) {
  if (folders_.empty()) return before;
  bool has_folder = false;
  auto forget = [&](NodeId node) {
    if (!folders_.contains(node)) return;
    set_digest(node, {});
    has_folder = true;
  };
  for (NodeId input : graph_.edge(id).content_inputs()) forget(input);
  for (const std::string& path : discovered) forget(node_of(path));
  return has_folder ? declared_key(id) : before;
}

Result<KeyWriter> Lookup::full_key(EdgeId edge, const KeyWriter& declared,
                                   std::span<const std::string> discovered) {
  KeyWriter full = declared;
  for (const std::string& path : discovered) {
    auto value = discovered_value(node_of(path));
    if (!value) {
      return std::move(value).error().within(graph_.path(graph_.edge(edge).outputs[0]));
    }
    full.add("discovered", path, *value);
  }
  return full;
}

Result<Digest> Lookup::discovered_part(NodeId node) {
  if (index(node) >= discovered_parts_.size()) discovered_parts_.resize(graph_.node_count());
  if (discovered_parts_[index(node)] != Digest{}) return discovered_parts_[index(node)];
  TRY_ASSIGN(auto value, discovered_value(node));
  const std::string path = symbolic_path(graph_.node(node).path, surroundings_.machine);
  return discovered_parts_[index(node)] = part_digest("discovered", path, value);
}

std::string Lookup::record_name(EdgeId id) const {
  return symbolic_path(graph_.node(graph_.edge(id).outputs.front()).path, surroundings_.machine);
}

std::optional<Hit> Lookup::take_hit(EdgeId id) {
  auto hit = hits_.extract(id);
  return hit ? std::optional(std::move(hit.mapped())) : std::nullopt;
}

Result<std::vector<std::string>> Lookup::discovered_by(const Digest& declared_key) {
  auto discovered = memo_.discovered(declared_key);
  if (discovered && discovered->empty()) discovered = ledger_.recall_discovered(declared_key);
  if (!discovered || !is_memo_far_) return discovered;
  // Another machine's list may name what cannot be looked at here: then it is of no use.
  for (const std::string& path : *discovered) {
    const NodeId node = node_of(path);
    if (is_binding(path, surroundings_.machine) || graph_.node(node).made_by) continue;
    if (!look(node)) return std::vector<std::string>{};
  }
  return discovered;
}

bool Lookup::is_tentative(EdgeId id) const {
  return graph_.extension(id, "tentative") == "1";
}

bool Lookup::is_confirmed(const Digest& key) const {
  return std::find(confirmed_.begin(), confirmed_.end(), key) != confirmed_.end();
}

Result<std::optional<ActionResult>> Lookup::stored(EdgeId id, const Digest& key) {
  if (is_tentative(id)) {
    if (is_confirmed(key)) return ledger_.recall(key);
    return std::optional<ActionResult>{};
  }
  auto result = memo_.find(key);
  if (!result || *result) return result;
  return ledger_.recall(key);
}

std::string Lookup::with_paths(EdgeId id, std::string text) const {
  const Edge& edge = graph_.edge(id);
  auto replace = [&](const std::string& role, const std::string& path) {
    for (size_t at = text.find(role); at != std::string::npos;
         at = text.find(role, at + path.size())) {
      text.replace(at, role.size(), path);
    }
  };
  for (size_t i = 0; i < edge.inputs.size(); ++i) {
    replace(fmt::format("{{in{}}}", i),
            symbolic_path(graph_.node(edge.inputs[i]).path, surroundings_.machine));
  }
  for (size_t i = 0; i < edge.outputs.size(); ++i) {
    replace(fmt::format("{{out{}}}", i),
            symbolic_path(graph_.node(edge.outputs[i]).path, surroundings_.machine));
  }
  return text;
}

Result<std::vector<std::string>> Lookup::reasons(EdgeId edge, const Finding& finding) {
  if (rule_ != nullptr && finding.dirty.empty()) {
    TRY_ASSIGN(auto judgement, rule_->judge(edge, false));
    return std::vector<std::string>{judgement.reason};
  }
  TRY_ASSIGN(auto last, ledger_.last_record(record_name(edge)));
  if (!last) return std::vector<std::string>{"never built"};
  if (last->outcome == Outcome::failed) return std::vector<std::string>{"failed last time"};
  if (!finding.dirty.empty()) {
    std::vector<std::string> out;
    for (NodeId node : finding.dirty) out.push_back(graph_.path(node) + " is always new");
    return out;
  }
  const KeyWriter& now = finding.full ? *finding.full : finding.declared;
  std::vector<KeyPart> before = last->result.parts;
  auto is_discovered = [](const KeyPart& part) { return part.tag == "discovered"; };
  if (std::none_of(now.parts().begin(), now.parts().end(), is_discovered)) {
    // What it will discover is not known yet; say only what is.
    std::erase_if(before, is_discovered);
  }
  std::vector<std::string> out;
  for (KeyChange& change : changes_between(before, now.parts())) {
    change.name = with_paths(edge, std::move(change.name));
    out.push_back(with_paths(edge, text_of(change)));
  }
  return out.empty() ? std::vector<std::string>{"its stored result is gone"} : out;
}

}  // namespace evolve
