#include "engine/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/core/digest.h"
#include "engine/core/path.h"
#include "engine/core/text/did_you_mean.h"

namespace evolve {

namespace {

// Evaluates the bindings of one edge. Stops where a rule's variables name each other in a circle,
// and where a value gets too long.
class Evaluator {
 public:
  Evaluator(const Graph& graph, const Edge& edge, Graph::Quoting quoting)
      : graph_(graph), edge_(edge), quoting_(quoting) {}

  void append(std::string_view name, std::string& out) {
    if (out.size() >= graph_.most_text() || cycle_) return;
    if (name == "in") return append_paths(edge_.explicit_inputs(), ' ', out);
    if (name == "in_newline") return append_paths(edge_.explicit_inputs(), '\n', out);
    if (name == "out") return append_paths(edge_.explicit_outputs(), ' ', out);
    if (const Variable* own = edge_.find_own(name)) {
      out += own->value;
      return;
    }
    const Rule::Binding* binding = edge_.rule->find(name);
    if (binding == nullptr) {
      out += edge_.scope->get(name);
      return;
    }
    // As in Ninja, the variable that was asked for is put on `open_`, and so can become part of a
    // circle, only where a binding names it.
    auto again = std::find(open_.begin(), open_.end(), name);
    if (again != open_.end()) {
      if (!cycle_) cycle_ = fmt::format("{} -> {}", fmt::join(again, open_.end(), " -> "), name);
      return;
    }
    if (depth_++ > 0) open_.push_back(name);
    for (const Piece& piece : binding->value) {
      if (piece.is_variable) {
        append(piece.text, out);
      } else {
        out += piece.text;
      }
    }
    if (--depth_ > 0) open_.pop_back();
  }
  [[nodiscard]] const std::optional<std::string>& cycle() const { return cycle_; }

 private:
  void append_paths(std::span<const NodeId> nodes, char separator, std::string& out) const {
    bool is_first = true;
    for (NodeId node : nodes) {
      if (!is_first) out += separator;
      is_first = false;
      std::string_view path = graph_.node(node).path;
      if (quoting_ == Graph::Quoting::shell) {
        append_shell_quoted(path, out);
      } else {
        out += path;
      }
    }
  }

  const Graph& graph_;
  const Edge& edge_;
  Graph::Quoting quoting_;
  int depth_ = 0;
  std::vector<std::string_view> open_;
  std::optional<std::string> cycle_;
};

// A depth-first search along edges for a cycle above a target. All outputs of an edge count as one
// place.
class CycleFinder {
 public:
  explicit CycleFinder(const Graph& graph)
      : graph_(graph), marks_(graph.edge_count(), Mark::unseen) {}

  // Searches above the node, and then above the validations of the edges found there.
  std::optional<std::string> find_above(NodeId start) {
    validations_ = {start};
    while (!validations_.empty()) {
      const NodeId next = validations_.back();
      validations_.pop_back();
      if (auto cycle = visit(next)) return cycle;
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string> visit(NodeId start) {
    // The stack is explicit, because a long chain of edges would overflow the thread's own.
    if (auto cycle = push(start)) return cycle;
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      const Edge& edge = graph_.edge(frame.edge);
      if (frame.next == edge.inputs.size()) {
        marks_[index(frame.edge)] = Mark::done;
        validations_.insert(validations_.end(), edge.validations.begin(), edge.validations.end());
        stack_.pop_back();
        continue;
      }
      if (auto cycle = push(edge.inputs[frame.next++])) return cycle;
    }
    return std::nullopt;
  }

  enum class Mark : char { unseen, open, done };
  struct Frame {
    NodeId node;  // the node through which the edge was reached
    EdgeId edge;
    size_t next;
  };

  std::optional<std::string> push(NodeId node) {
    auto made_by = graph_.node(node).made_by;
    if (!made_by) return std::nullopt;
    Mark& mark = marks_[index(*made_by)];
    if (mark == Mark::open) return describe(node, *made_by);
    if (mark == Mark::unseen) {
      mark = Mark::open;
      stack_.push_back({node, *made_by, 0});
    }
    return std::nullopt;
  }

  // Returns the text of a cycle, such as "a -> c -> a". The text starts with the output that closes
  // the circle, even if the search first reached its edge through another output.
  std::string describe(NodeId again, EdgeId edge) const {
    auto from = std::find_if(stack_.begin(), stack_.end(),
                             [&](const Frame& frame) { return frame.edge == edge; });
    std::string out = graph_.path(again);
    for (auto it = from + 1; it != stack_.end(); ++it) out += " -> " + graph_.path(it->node);
    out += " -> " + graph_.path(again);
    const Edge& closing = graph_.edge(edge);
    bool is_own_input = from + 1 == stack_.end() && closing.is_phony() &&
                        closing.outputs.size() == 1 && closing.implicit_outputs == 0 &&
                        closing.implicit_inputs == 0;
    return is_own_input ? out + " [-w phonycycle=err]" : out;
  }

  const Graph& graph_;
  std::vector<Mark> marks_;
  std::vector<Frame> stack_;
  std::vector<NodeId> validations_;  // still to be visited
};

}  // namespace

const Rule::Binding* Rule::find(std::string_view binding) const {
  auto it = std::find_if(bindings.begin(), bindings.end(),
                         [&](const Binding& candidate) { return candidate.name == binding; });
  return it == bindings.end() ? nullptr : &*it;
}

const Variable* Edge::find_own(std::string_view name) const {
  auto own = std::find_if(bindings.rbegin(), bindings.rend(),
                          [&](const Variable& variable) { return variable.name == name; });
  return own == bindings.rend() ? nullptr : &*own;
}

std::string_view Scope::get(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    auto it = scope->variables_.find(name);
    if (it != scope->variables_.end()) return it->second;
  }
  return {};
}

const Rule* Scope::own_rule(std::string_view name) const {
  auto it = rules_.find(name);
  return it == rules_.end() ? nullptr : it->second;
}

const Rule* Scope::find_rule(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    if (const Rule* rule = scope->own_rule(name)) return rule;
  }
  return nullptr;
}

Graph::Graph() : table_(1024) {
  new_scope(nullptr)->add_rule(add_rule({.name = "phony", .is_phony = true}));
  add_pool({"", 0});
  add_pool({"console", 1});
}

size_t Graph::slot_of(std::string_view path, uint64_t hash) const {
  const size_t mask = table_.size() - 1;
  size_t at = hash & mask;
  while (table_[at].node >= 0 &&
         (table_[at].hash != hash || nodes_[static_cast<size_t>(table_[at].node)].path != path)) {
    at = (at + 1) & mask;
  }
  return at;
}

void Graph::grow_table() {
  std::vector<Slot> old(table_.size() * 2);
  old.swap(table_);
  const size_t mask = table_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.node < 0) continue;
    size_t at = slot.hash & mask;
    while (table_[at].node >= 0) at = (at + 1) & mask;
    table_[at] = slot;
  }
}

NodeId Graph::node(std::string_view path, bool is_kept) {
  std::string canonical;
  if (!is_canonical(path)) {
    canonical = canonical_path(path);
    is_kept = is_kept && canonical == path;
    if (!is_kept) path = canonical;
  }
  const uint64_t hash = table_hash(path);
  size_t at = slot_of(path, hash);
  if (table_[at].node >= 0) return static_cast<NodeId>(table_[at].node);
  if (nodes_.size() * 2 >= table_.size()) {
    grow_table();
    at = slot_of(path, hash);
  }
  auto id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back({is_kept ? path : arena_.copy(path), std::nullopt});
  users_.emplace_back();
  table_[at] = {hash, static_cast<int32_t>(id)};
  return id;
}

std::optional<NodeId> Graph::find_node(std::string_view path) const {
  std::string canonical;
  if (!is_canonical(path)) path = canonical = canonical_path(path);
  const Slot& slot = table_[slot_of(path, table_hash(path))];
  if (slot.node < 0) return std::nullopt;
  return static_cast<NodeId>(slot.node);
}

const Pool* Graph::find_pool(std::string_view name) const {
  auto it = pools_.find(name);
  return it == pools_.end() ? nullptr : &it->second;
}

void Graph::add_use(NodeId node, EdgeId edge) {
  auto at = static_cast<int32_t>(uses_.size());
  uses_.push_back({edge, -1});
  Users& users = users_[index(node)];
  if (users.last >= 0) {
    uses_[static_cast<size_t>(users.last)].next = at;
  } else {
    users.first = at;
  }
  users.last = at;
}

Status Graph::add_edge(const Edge& edge) {
  auto id = static_cast<EdgeId>(edges_.size());
  for (NodeId output : edge.outputs) {
    std::optional<EdgeId>& made_by = nodes_[index(output)].made_by;
    if (made_by == id) {
      return bad_input(fmt::format("{} is defined as an output multiple times", path(output)));
    }
    if (made_by) return bad_input(fmt::format("multiple rules generate {}", path(output)));
    made_by = id;
  }
  for (NodeId input : edge.inputs) add_use(input, id);
  edges_.push_back(edge);
  return {};
}

Status Graph::extend_edge(EdgeId id, std::span<const NodeId> outputs,
                          std::span<const NodeId> inputs) {
  Edge& edge = edges_[index(id)];
  for (NodeId output : outputs) {
    std::optional<EdgeId>& made_by = nodes_[index(output)].made_by;
    if (made_by) return bad_input(fmt::format("multiple rules generate {}", path(output)));
    made_by = id;
  }
  std::vector<NodeId> all(edge.outputs.begin(), edge.outputs.end());
  all.insert(all.end(), outputs.begin(), outputs.end());
  edge.outputs = arena_.copy(std::span<const NodeId>(all));
  edge.implicit_outputs += static_cast<uint32_t>(outputs.size());
  all.assign(edge.inputs.begin(), edge.inputs.end());
  all.insert(all.end() - edge.order_only_inputs, inputs.begin(), inputs.end());
  edge.inputs = arena_.copy(std::span<const NodeId>(all));
  edge.implicit_inputs += static_cast<uint32_t>(inputs.size());
  for (NodeId input : inputs) add_use(input, id);
  return {};
}

std::string Graph::binding(EdgeId id, std::string_view name, Quoting quoting) const {
  std::string out;
  Evaluator(*this, edge(id), quoting).append(name, out);
  if (out.size() > most_text_) out.resize(most_text_);
  return out;
}

const Extensions& Graph::extensions(EdgeId id) const {
  static const Extensions kNone;
  const auto known = extensions_.find(id);
  return known == extensions_.end() ? kNone : known->second;
}

void Graph::set_extensions(EdgeId id, Extensions extensions) {
  if (extensions == Extensions{}) {
    extensions_.erase(id);
  } else {
    extensions_.insert_or_assign(id, std::move(extensions));
  }
}

std::string Graph::extension(EdgeId id, std::string_view name) const {
  const Variable* own = edge(id).find_own(name);
  return own == nullptr ? std::string() : std::string(own->value);
}

Status Graph::check_length(EdgeId id, std::string_view name, std::string_view value) const {
  if (value.size() < most_text_) return {};
  return bad_input(fmt::format("{} of '{}': longer than {} bytes", name,
                               path(edge(id).outputs.front()), most_text_));
}

std::optional<std::string> Graph::find_variable_cycle(EdgeId id) const {
  if (!edge(id).rule->is_circular) return std::nullopt;
  Evaluator evaluator(*this, edge(id), Quoting::none);
  std::string ignored;
  evaluator.append("command", ignored);
  for (const Rule::Binding& binding : edge(id).rule->bindings) {
    ignored.clear();
    evaluator.append(binding.name, ignored);
  }
  return evaluator.cycle();
}

Result<std::vector<NodeId>> Graph::root_nodes() const {
  std::vector<NodeId> roots;
  for (const Edge& edge : edges_) {
    std::copy_if(edge.outputs.begin(), edge.outputs.end(), std::back_inserter(roots),
                 [&](NodeId output) { return !has_users(output); });
  }
  if (roots.empty() && !edges_.empty()) {
    return bad_input("could not determine root nodes of build graph");
  }
  return roots;
}

Result<std::vector<NodeId>> Graph::default_targets() const {
  if (!defaults_.empty()) return defaults_;
  return root_nodes();
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
    for (const Node& candidate : nodes_) known.emplace_back(candidate.path);
    auto near = nearest(name, known);
    return bad_input(fmt::format("unknown target '{}'{}", name,
                                 near ? fmt::format(", did you mean '{}'?", *near) : ""));
  }
  return out;
}

std::optional<std::string> Graph::find_cycle(std::span<const NodeId> targets) const {
  CycleFinder finder(*this);
  for (NodeId target : targets) {
    if (auto cycle = finder.find_above(target)) return cycle;
  }
  return std::nullopt;
}

}  // namespace evolve
