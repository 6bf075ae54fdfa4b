#include "engine/lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace evolve {

Lookup::Lookup(const Graph& graph, Files& files, Memo& memo, Ledger& ledger,
               std::vector<MachineBinding> machine, std::map<std::string, std::string> environment)
    : graph_(graph),
      files_(files),
      memo_(memo),
      ledger_(ledger),
      machine_(std::move(machine)),
      environment_(std::move(environment)) {}

bool Lookup::knows(NodeId node) const {
  return !graph_.node(node).made_by || digests_.contains(node);
}

Result<Digest> Lookup::digest(NodeId node, EdgeId needed_by) {
  auto known = digests_.find(node);
  if (known != digests_.end()) return known->second;
  const std::string& path = graph_.path(node);
  auto digest = files_.digest(path);
  if (!digest) return std::move(digest).error();
  if (!*digest) {
    return bad_input(fmt::format("'{}', needed by '{}', missing and no known rule to make it", path,
                                 graph_.path(graph_.edge(needed_by).outputs.front())));
  }
  set_digest(node, **digest);
  return **digest;
}

std::vector<std::pair<std::string, std::string>> Lookup::declared_environment(EdgeId edge) const {
  std::vector<std::pair<std::string, std::string>> out;
  std::istringstream names(graph_.binding(edge, "environment"));
  for (std::string name; names >> name;) {
    auto it = environment_.find(name);
    out.emplace_back(name, it == environment_.end() ? "" : it->second);
  }
  return out;
}

Status Lookup::settle_phony(EdgeId id) {
  const Edge& edge = graph_.edge(id);
  Hasher hasher;
  bool is_dirty = false;
  for (NodeId input : edge.content_inputs()) {
    auto input_digest = digest(input, id);
    if (!input_digest) return std::move(input_digest).error();
    hasher.add(input_digest->hex());
    is_dirty = is_dirty || dirty_.contains(input);
  }
  const bool is_bare = edge.inputs.empty() && edge.validations.empty();
  for (NodeId output : edge.outputs) {
    Result<std::optional<Digest>> file = std::optional<Digest>{};
    if (is_bare) file = files_.digest(graph_.path(output));
    if (!file) return std::move(file).error();
    if (*file) hasher.add((*file)->hex());
    if (is_dirty || (is_bare && !*file)) dirty_.insert(output);
  }
  for (NodeId output : edge.outputs) set_digest(output, hasher.digest());
  return {};
}

Result<Finding> Lookup::find(EdgeId id) {
  InputDigests inputs;
  std::vector<NodeId> dirty;
  for (NodeId input : graph_.edge(id).content_inputs()) {
    auto input_digest = digest(input, id);
    if (!input_digest) return std::move(input_digest).error();
    inputs.content.push_back(*input_digest);
    if (dirty_.contains(input)) dirty.push_back(input);
  }
  inputs.environment = declared_environment(id);
  Finding finding{
      std::move(dirty), {}, write_key(graph_, id, inputs, machine_), std::nullopt, std::nullopt};
  auto discovered = discovered_by(finding.declared.key());
  if (!discovered) return std::move(discovered).error();
  if (!*discovered) return finding;
  for (const std::string& path : **discovered) {
    auto node = graph_.find_node(path);
    if (node && !knows(*node)) finding.unmade.push_back(*node);
  }
  if (!finding.unmade.empty()) return finding;
  auto full = full_key(id, finding.declared, **discovered);
  if (!full) return std::move(full).error();
  finding.full = *std::move(full);
  if (!finding.dirty.empty()) return finding;
  auto result = stored(finding.full->key());
  if (!result) return std::move(result).error();
  finding.result = *std::move(result);
  return finding;
}

Result<KeyWriter> Lookup::full_key(EdgeId edge, const KeyWriter& declared,
                                   const std::vector<std::string>& discovered) {
  KeyWriter full = declared;
  for (const std::string& path : discovered) {
    std::optional<Digest> content;
    auto node = graph_.find_node(path);
    if (node && graph_.node(*node).made_by && digests_.contains(*node)) {
      content = digests_[*node];
    } else {
      auto [it, is_new] = discovered_digests_.try_emplace(path);
      if (is_new) {
        auto read = files_.digest(path);
        if (!read) return std::move(read).error().within(graph_.path(graph_.edge(edge).outputs[0]));
        it->second = *read;
      }
      content = it->second;
    }
    full.add("discovered", symbolic_path(path, machine_), content ? content->hex() : "missing");
  }
  return full;
}

Result<std::optional<std::vector<std::string>>> Lookup::discovered_by(const Digest& declared_key) {
  auto discovered = memo_.discovered(declared_key);
  if (!discovered || *discovered) return discovered;
  return ledger_.recall_discovered(declared_key);
}

Result<std::optional<ActionResult>> Lookup::stored(const Digest& key) {
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
    replace(fmt::format("{{in{}}}", i), symbolic_path(graph_.path(edge.inputs[i]), machine_));
  }
  for (size_t i = 0; i < edge.outputs.size(); ++i) {
    replace(fmt::format("{{out{}}}", i), symbolic_path(graph_.path(edge.outputs[i]), machine_));
  }
  return text;
}

Result<std::vector<std::string>> Lookup::reasons(EdgeId edge, const Finding& finding) {
  auto last =
      ledger_.last_record(symbolic_path(graph_.path(graph_.edge(edge).outputs.front()), machine_));
  if (!last) return std::move(last).error();
  if (!*last) return std::vector<std::string>{"never built"};
  if ((*last)->outcome == Outcome::failed) return std::vector<std::string>{"failed last time"};
  if (!finding.dirty.empty()) {
    std::vector<std::string> out;
    for (NodeId node : finding.dirty) out.push_back(graph_.path(node) + " is always new");
    return out;
  }
  const KeyWriter& now = finding.full ? *finding.full : finding.declared;
  std::vector<KeyPart> before = (*last)->result.parts;
  if (!finding.full) {
    // What it will discover is not known yet; say only what is.
    std::erase_if(before, [](const KeyPart& part) { return part.tag == "discovered"; });
  }
  auto changes = describe_changes(before, now.parts());
  if (changes.empty()) return std::vector<std::string>{"its stored result is gone"};
  for (std::string& change : changes) change = with_paths(edge, std::move(change));
  return changes;
}

}  // namespace evolve
