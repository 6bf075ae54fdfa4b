#include "engine/core/graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/core/did_you_mean.h"

namespace evolve {

namespace {

const std::string no_value;

// Quotes a path for /bin/sh where it has to be.
std::string shell_quoted(const std::string& path) {
  auto is_safe = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_+-./=,:@%").find(c) != std::string_view::npos;
  };
  if (!path.empty() && std::all_of(path.begin(), path.end(), is_safe)) return path;
  std::string out = "'";
  for (char c : path) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

// Evaluates the bindings of one edge; guards against a rule whose variables name each other.
class Evaluator {
 public:
  Evaluator(const Graph& graph, const Edge& edge) : graph_(graph), edge_(edge) {}

  std::string get(std::string_view name) {
    if (name == "in") return paths(edge_.explicit_inputs(), ' ');
    if (name == "in_newline") return paths(edge_.explicit_inputs(), '\n');
    if (name == "out") return paths(edge_.explicit_outputs(), ' ');
    if (const std::string* own = edge_.scope->own(name)) return *own;
    auto binding = edge_.rule->bindings.find(name);
    if (binding == edge_.rule->bindings.end()) return edge_.scope->get(name);
    if (std::find(open_.begin(), open_.end(), name) != open_.end()) return {};
    open_.emplace_back(name);
    std::string value =
        binding->second.evaluate([this](std::string_view inner) { return get(inner); });
    open_.pop_back();
    return value;
  }

 private:
  std::string paths(std::span<const NodeId> nodes, char separator) const {
    std::string out;
    for (NodeId node : nodes) {
      if (!out.empty()) out += separator;
      out += shell_quoted(graph_.path(node));
    }
    return out;
  }

  const Graph& graph_;
  const Edge& edge_;
  std::vector<std::string> open_;
};

// Depth-first search for a cycle above a target.
class CycleFinder {
 public:
  explicit CycleFinder(const Graph& graph)
      : graph_(graph), marks_(graph.node_count(), Mark::unseen) {}

  std::optional<std::string> visit(NodeId start) {
    // An explicit stack: a long chain of edges must not overflow ours.
    push(start);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      auto made_by = graph_.node(frame.node).made_by;
      if (!made_by || frame.next == graph_.edge(*made_by).inputs.size()) {
        marks_[index(frame.node)] = Mark::done;
        stack_.pop_back();
        continue;
      }
      NodeId input = graph_.edge(*made_by).inputs[frame.next++];
      if (marks_[index(input)] == Mark::open) return describe(input);
      if (marks_[index(input)] == Mark::unseen) push(input);
    }
    return std::nullopt;
  }

 private:
  enum class Mark : char { unseen, open, done };
  struct Frame {
    NodeId node;
    size_t next;
  };

  void push(NodeId node) {
    if (marks_[index(node)] != Mark::unseen) return;
    marks_[index(node)] = Mark::open;
    stack_.push_back({node, 0});
  }

  std::string describe(NodeId again) const {
    auto from = std::find_if(stack_.begin(), stack_.end(),
                             [&](const Frame& frame) { return frame.node == again; });
    std::string out;
    for (auto it = from; it != stack_.end(); ++it) out += graph_.path(it->node) + " -> ";
    return out + graph_.path(again);
  }

  const Graph& graph_;
  std::vector<Mark> marks_;
  std::vector<Frame> stack_;
};

}  // namespace

void Template::add_text(std::string_view text) {
  if (!pieces_.empty() && !pieces_.back().is_variable) {
    pieces_.back().text += text;
  } else {
    pieces_.push_back({std::string(text), false});
  }
}

void Template::add_variable(std::string_view name) {
  pieces_.push_back({std::string(name), true});
}

const std::string& Scope::get(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    if (const std::string* value = scope->own(name)) return *value;
  }
  return no_value;
}

const std::string* Scope::own(std::string_view name) const {
  auto it = variables_.find(name);
  return it == variables_.end() ? nullptr : &it->second;
}

bool Scope::add_rule(Rule rule) {
  std::string name = rule.name;
  return rules_.emplace(std::move(name), std::move(rule)).second;
}

const Rule* Scope::find_rule(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    auto it = scope->rules_.find(name);
    if (it != scope->rules_.end()) return &it->second;
  }
  return nullptr;
}

std::vector<std::string> Scope::rule_names() const {
  std::vector<std::string> names;
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    for (const auto& [name, rule] : scope->rules_) names.push_back(name);
  }
  return names;
}

bool Edge::is_phony() const {
  return rule->name == "phony";
}

std::span<const NodeId> Edge::explicit_inputs() const {
  return std::span(inputs).first(inputs.size() - implicit_inputs - order_only_inputs);
}

std::span<const NodeId> Edge::content_inputs() const {
  return std::span(inputs).first(inputs.size() - order_only_inputs);
}

std::span<const NodeId> Edge::explicit_outputs() const {
  return std::span(outputs).first(outputs.size() - implicit_outputs);
}

Graph::Graph() {
  scopes_.push_back(std::make_unique<Scope>());
  root_scope()->add_rule({"phony", {}});
  add_pool({"", 0});
  add_pool({"console", 1});
}

NodeId Graph::node(const std::string& path) {
  auto [it, is_new] =
      by_path_.try_emplace(canonical_path(path), static_cast<NodeId>(nodes_.size()));
  if (is_new) nodes_.push_back({it->first, std::nullopt, {}});
  return it->second;
}

std::optional<NodeId> Graph::find_node(const std::string& path) const {
  auto it = by_path_.find(canonical_path(path));
  if (it == by_path_.end()) return std::nullopt;
  return it->second;
}

const Pool* Graph::find_pool(const std::string& name) const {
  auto it = pools_.find(name);
  return it == pools_.end() ? nullptr : &it->second;
}

Scope* Graph::new_scope(const Scope* parent) {
  scopes_.push_back(std::make_unique<Scope>(parent));
  return scopes_.back().get();
}

Status Graph::add_edge(Edge edge) {
  auto id = static_cast<EdgeId>(edges_.size());
  for (NodeId output : edge.outputs) {
    if (nodes_[index(output)].made_by) {
      return bad_input(fmt::format("multiple rules generate {}", path(output)));
    }
    nodes_[index(output)].made_by = id;
  }
  for (NodeId input : edge.inputs) {
    auto& used_by = nodes_[index(input)].used_by;
    if (used_by.empty() || used_by.back() != id) used_by.push_back(id);
  }
  edges_.push_back(std::move(edge));
  return {};
}

std::string Graph::binding(EdgeId id, std::string_view name) const {
  return Evaluator(*this, edge(id)).get(name);
}

std::vector<NodeId> Graph::default_targets() const {
  if (!defaults_.empty()) return defaults_;
  std::vector<NodeId> roots;
  for (const Edge& edge : edges_) {
    for (NodeId output : edge.outputs) {
      if (node(output).used_by.empty()) roots.push_back(output);
    }
  }
  return roots;
}

Result<std::vector<NodeId>> Graph::targets(std::span<const std::string> names) const {
  if (names.empty()) return default_targets();
  std::vector<NodeId> out;
  for (const std::string& name : names) {
    auto found = find_node(name);
    if (found) {
      out.push_back(*found);
      continue;
    }
    std::vector<std::string> known;
    for (const Node& candidate : nodes_) known.push_back(candidate.path);
    auto near = nearest(name, known);
    return bad_input(fmt::format("unknown target '{}'{}", name,
                                 near ? fmt::format(", did you mean '{}'?", *near) : ""));
  }
  return out;
}

std::optional<std::string> Graph::find_cycle(std::span<const NodeId> targets) const {
  CycleFinder finder(*this);
  for (NodeId target : targets) {
    if (auto cycle = finder.visit(target)) return cycle;
  }
  return std::nullopt;
}

std::string canonical_path(std::string_view path) {
  const bool is_absolute = !path.empty() && path.front() == '/';
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    size_t end = std::min(path.find('/'), path.size());
    std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (part != ".." || !is_absolute) {
      parts.push_back(part);
    }
  }
  std::string out = is_absolute ? "/" : "";
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += '/';
    out += parts[i];
  }
  return out.empty() ? "." : out;
}

}  // namespace evolve
