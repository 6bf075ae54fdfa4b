// The build graph: nodes (files), edges (each a rule with inputs and outputs), rules, pools, and
// variables, evaluated as in Ninja. manifest.cc fills it. It uses no times, keys or processes.
//
// The graph is designed for manifests of a million edges: ids are dense, and arrays and evaluated
// text are in an arena. Other text is not copied: it is a view into the manifest's text, which the
// graph keeps.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/core/arena.h"
#include "engine/core/result.h"
#include "engine/graph/extensions.h"

namespace evolve {

enum class NodeId : int32_t {};
enum class EdgeId : int32_t {};
constexpr size_t index(NodeId id) {
  return static_cast<size_t>(id);
}
constexpr size_t index(EdgeId id) {
  return static_cast<size_t>(id);
}

// A piece of text as parsed: literal, or the name of a variable to be replaced.
struct Piece {
  std::string_view text;
  bool is_variable = false;
};
// Text with variables in it. Empty: no text at all.
using Template = std::span<const Piece>;

struct Variable {
  std::string_view name;
  std::string_view value;
};

// A rule: bindings that are evaluated late, in the scope of each edge that uses the rule.
struct Rule {
  struct Binding {
    std::string_view name;
    Template value;
  };
  std::string_view name;
  std::span<const Binding> bindings = {};
  bool is_phony = false;
  bool is_circular = false;  // its bindings name each other, unless an edge overrides them

  // Returns the binding of that name, or null.
  [[nodiscard]] const Binding* find(std::string_view binding) const;
};

// The variables and rules of a file. The scope of a subninja is below the scope of its parent.
class Scope {
 public:
  explicit Scope(const Scope* parent = nullptr) : parent_(parent) {}

  void set(std::string_view name, std::string_view value) { variables_[name] = value; }
  // Returns a variable's value in the nearest scope from here up that sets it; empty: not set.
  [[nodiscard]] std::string_view get(std::string_view name) const;
  void add_rule(const Rule* rule) { rules_[rule->name] = rule; }
  [[nodiscard]] const Rule* find_rule(std::string_view name) const;
  // Returns the rule of that name in this scope only, or null.
  [[nodiscard]] const Rule* own_rule(std::string_view name) const;
  // Returns the rules of this scope only, by name.
  [[nodiscard]] const std::map<std::string_view, const Rule*>& rules() const { return rules_; }
  [[nodiscard]] const Scope* parent() const { return parent_; }

 private:
  const Scope* parent_;
  std::unordered_map<std::string_view, std::string_view> variables_;
  std::map<std::string_view, const Rule*> rules_;
};

struct Pool {
  std::string_view name;
  int depth = 0;  // edges at a time; 0: no limit
};

struct Node {
  std::string_view path;
  std::optional<EdgeId> made_by;
};

struct Edge {
  const Rule* rule = nullptr;
  const Scope* scope = nullptr;        // the file's
  std::span<const Variable> bindings;  // the edge's own; the last one of a name counts
  const Pool* pool = nullptr;
  std::span<const NodeId> inputs;   // explicit, then implicit, then order-only
  std::span<const NodeId> outputs;  // explicit, then implicit
  std::span<const NodeId> validations;
  uint32_t implicit_inputs = 0;
  uint32_t order_only_inputs = 0;
  uint32_t implicit_outputs = 0;
  std::optional<NodeId> dyndep;

  [[nodiscard]] bool is_phony() const { return rule->is_phony; }
  // Returns the edge's own variable of that name, or null.
  [[nodiscard]] const Variable* find_own(std::string_view name) const;
  [[nodiscard]] std::span<const NodeId> explicit_inputs() const {
    return inputs.first(inputs.size() - implicit_inputs - order_only_inputs);
  }
  // Returns the explicit and implicit inputs. The content of order-only inputs does not count.
  [[nodiscard]] std::span<const NodeId> content_inputs() const {
    return inputs.first(inputs.size() - order_only_inputs);
  }
  [[nodiscard]] std::span<const NodeId> explicit_outputs() const {
    return outputs.first(outputs.size() - implicit_outputs);
  }
};

class Graph {
 public:
  Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Returns the node of a path, which is first made canonical. A new path gets a new node.
  // `is_kept`: the text is in the graph's own memory and need not be copied.
  NodeId node(std::string_view path, bool is_kept = false);
  [[nodiscard]] std::optional<NodeId> find_node(std::string_view path) const;
  [[nodiscard]] const Node& node(NodeId id) const { return nodes_[index(id)]; }
  [[nodiscard]] std::string path(NodeId id) const { return std::string(nodes_[index(id)].path); }
  [[nodiscard]] const Edge& edge(EdgeId id) const { return edges_[index(id)]; }
  [[nodiscard]] size_t edge_count() const { return edges_.size(); }
  [[nodiscard]] size_t node_count() const { return nodes_.size(); }
  // The number of slots in the table of paths.
  [[nodiscard]] size_t slot_count() const { return table_.size(); }
  // Calls `visit(EdgeId)` for each edge that has the node among its inputs, in the manifest's
  // order, and once for each time that the edge names the node.
  template <typename Visit>
  void for_each_user(NodeId id, Visit visit) const {
    for (int32_t at = users_[index(id)].first; at >= 0; at = uses_[static_cast<size_t>(at)].next) {
      visit(uses_[static_cast<size_t>(at)].edge);
    }
  }
  [[nodiscard]] bool has_users(NodeId id) const { return users_[index(id)].first >= 0; }

  // Adds an edge, whose arrays must be in the arena. Bad input: a file would be made twice.
  Status add_edge(const Edge& edge);
  // Adds implicit outputs and inputs that are found late. Bad input: a file would be made twice.
  Status extend_edge(EdgeId id, std::span<const NodeId> outputs, std::span<const NodeId> inputs);
  // is_dyndep(): whether an edge binds the file as its dyndep file. is_dyndep_loaded(): whether the
  // file was read into the graph.
  [[nodiscard]] bool is_dyndep(NodeId file) const { return dyndeps_.contains(file); }
  void set_dyndep_loaded(NodeId file) { loaded_dyndeps_.insert(file); }
  [[nodiscard]] bool is_dyndep_loaded(NodeId file) const { return loaded_dyndeps_.contains(file); }
  void set_pool(EdgeId id, const Pool* pool) { edges_[index(id)].pool = pool; }
  void set_dyndep(EdgeId id, NodeId file) {
    edges_[index(id)].dyndep = file;
    dyndeps_.insert(file);
  }
  void add_default(NodeId node) { defaults_.push_back(node); }
  // Returns the pool of that name, or null. "" is the pool without a limit, and "console" is the
  // pool of the terminal.
  [[nodiscard]] const Pool* find_pool(std::string_view name) const;
  void add_pool(const Pool& pool) { pools_.emplace(pool.name, pool); }
  Scope* new_scope(const Scope* parent) { return &scopes_.emplace_back(parent); }
  [[nodiscard]] Scope* root_scope() { return &scopes_.front(); }
  [[nodiscard]] const Scope& root_scope() const { return scopes_.front(); }
  const Rule* add_rule(const Rule& rule) { return &rules_.emplace_back(rule); }
  Arena& arena() { return arena_; }
  // Keeps a manifest's text, and returns a view of it. A NUL follows the last byte of the view.
  std::string_view keep_text(std::string text) { return texts_.emplace_back(std::move(text)); }

  // The maximum length of one value in bytes, with its variables replaced. Without this limit, a
  // few lines that each double the value before would use all memory.
  static constexpr size_t kMostText = size_t{1} << 26;
  [[nodiscard]] size_t most_text() const { return most_text_; }
  void set_most_text(size_t bytes) { most_text_ = bytes; }

  // How paths in $in and $out are written.
  enum class Quoting { shell, none };
  // Returns a binding of an edge as Ninja evaluates it: the edge's own, else the rule's (evaluated
  // late), else the file's. A value is cut off at most_text() bytes; check_length() reports that.
  [[nodiscard]] std::string binding(EdgeId id, std::string_view name,
                                    Quoting quoting = Quoting::shell) const;
  // Returns an edge's own variable, which neither its rule nor its file can set; empty: the edge
  // has no variable of that name.
  [[nodiscard]] std::string extension(EdgeId id, std::string_view name) const;
  // Returns the extensions that the edge's own variables set. The parser reads them when it adds
  // the edge.
  [[nodiscard]] const Extensions& extensions(EdgeId id) const;
  void set_extensions(EdgeId id, Extensions extensions);
  // Returns bad input if a binding's value was cut off.
  [[nodiscard]] Status check_length(EdgeId id, std::string_view name, std::string_view value) const;
  // Returns the variables of the edge's rule that name each other in a circle, as "a -> b -> a";
  // nullopt: no circle.
  [[nodiscard]] std::optional<std::string> find_variable_cycle(EdgeId id) const;

  // Returns the targets if the user names none: the default nodes, or else the result of
  // root_nodes(), which may be bad input.
  [[nodiscard]] Result<std::vector<NodeId>> default_targets() const;
  // Returns the outputs that no edge uses. Bad input: there are edges, but no such output.
  [[nodiscard]] Result<std::vector<NodeId>> root_nodes() const;
  // Returns the nodes of these names; no names: the default targets. Bad input: a name is unknown;
  // the message suggests the nearest known one.
  [[nodiscard]] Result<std::vector<NodeId>> targets(std::span<const std::string> names) const;
  // Returns a cycle among the edges needed for `targets`, as "a -> b -> a"; nullopt: no cycle.
  [[nodiscard]] std::optional<std::string> find_cycle(std::span<const NodeId> targets) const;

 private:
  struct Slot {
    uint64_t hash = 0;
    int32_t node = -1;
  };
  struct Use {
    EdgeId edge;
    int32_t next;
  };
  struct Users {
    int32_t first = -1;
    int32_t last = -1;
  };

  // Returns the slot that holds the path, or the free slot where it belongs.
  [[nodiscard]] size_t slot_of(std::string_view path, uint64_t hash) const;
  void grow_table();
  void add_use(NodeId node, EdgeId edge);

  Arena arena_;
  std::deque<std::string> texts_;
  std::vector<Node> nodes_;
  std::vector<Users> users_;  // per node
  std::vector<Use> uses_;
  std::vector<Slot> table_;  // open addressing, by path
  std::vector<Edge> edges_;
  std::vector<NodeId> defaults_;
  std::unordered_map<EdgeId, Extensions> extensions_;  // only edges that have any
  std::set<NodeId> dyndeps_;
  std::set<NodeId> loaded_dyndeps_;
  std::map<std::string_view, Pool> pools_;
  std::deque<Scope> scopes_;
  std::deque<Rule> rules_;
  size_t most_text_ = kMostText;
};

}  // namespace evolve
