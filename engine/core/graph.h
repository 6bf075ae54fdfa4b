// The build graph: nodes (files), edges (one step's instance each), rules, pools, and Ninja's rules
// for evaluating variables. Filled by manifest.cc; knows nothing of time, keys or processes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

enum class NodeId : int32_t {};
enum class EdgeId : int32_t {};
constexpr size_t index(NodeId id) {
  return static_cast<size_t>(id);
}
constexpr size_t index(EdgeId id) {
  return static_cast<size_t>(id);
}

// Text with variables in it, as parsed: literal pieces and names to be replaced.
class Template {
 public:
  void add_text(std::string_view text);
  void add_variable(std::string_view name);
  [[nodiscard]] bool empty() const { return pieces_.empty(); }

  // Returns the text with each variable replaced by `lookup(name)`.
  template <typename Lookup>
  [[nodiscard]] std::string evaluate(Lookup lookup) const {
    std::string out;
    for (const Piece& piece : pieces_) out += piece.is_variable ? lookup(piece.text) : piece.text;
    return out;
  }

 private:
  struct Piece {
    std::string text;
    bool is_variable;
  };
  std::vector<Piece> pieces_;
};

// A rule: bindings that are evaluated late, in the scope of each edge that uses it.
struct Rule {
  std::string name;
  std::map<std::string, Template, std::less<>> bindings;
};

// Variables and rules of a file; a subninja's scope hangs below its parent's.
class Scope {
 public:
  explicit Scope(const Scope* parent = nullptr) : parent_(parent) {}

  void set(const std::string& name, std::string value) { variables_[name] = std::move(value); }
  // The value here or in the scopes above; empty where there is none.
  [[nodiscard]] const std::string& get(std::string_view name) const;
  // The variable bound in this very scope, or null.
  [[nodiscard]] const std::string* own(std::string_view name) const;
  // False: this scope has a rule of that name already.
  bool add_rule(Rule rule);
  [[nodiscard]] const Rule* find_rule(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> rule_names() const;
  [[nodiscard]] const Scope* parent() const { return parent_; }

 private:
  const Scope* parent_;
  std::map<std::string, std::string, std::less<>> variables_;
  std::map<std::string, Rule, std::less<>> rules_;
};

struct Pool {
  std::string name;
  int depth = 0;  // edges at a time; 0: no limit
};

struct Node {
  std::string path;
  std::optional<EdgeId> made_by;
  std::vector<EdgeId> used_by;
};

struct Edge {
  const Rule* rule = nullptr;
  const Scope* scope = nullptr;  // the edge's own bindings; its parent is the file's
  std::vector<NodeId> inputs;    // explicit, then implicit, then order-only
  size_t implicit_inputs = 0;
  size_t order_only_inputs = 0;
  std::vector<NodeId> outputs;  // explicit, then implicit
  size_t implicit_outputs = 0;
  std::vector<NodeId> validations;

  [[nodiscard]] bool is_phony() const;
  [[nodiscard]] std::span<const NodeId> explicit_inputs() const;
  // Explicit and implicit inputs: those whose content counts.
  [[nodiscard]] std::span<const NodeId> content_inputs() const;
  [[nodiscard]] std::span<const NodeId> explicit_outputs() const;
};

class Graph {
 public:
  Graph();

  // The node of a path as written in the manifest (canonicalised); made where there is none.
  NodeId node(const std::string& path);
  [[nodiscard]] std::optional<NodeId> find_node(const std::string& path) const;
  [[nodiscard]] const Node& node(NodeId id) const { return nodes_[index(id)]; }
  [[nodiscard]] const std::string& path(NodeId id) const { return nodes_[index(id)].path; }
  [[nodiscard]] const Edge& edge(EdgeId id) const { return edges_[index(id)]; }
  [[nodiscard]] size_t edge_count() const { return edges_.size(); }
  [[nodiscard]] size_t node_count() const { return nodes_.size(); }

  // Takes an edge; the message of a failed Status names the output that two edges make.
  Status add_edge(Edge edge);
  void add_default(NodeId node) { defaults_.push_back(node); }
  bool add_pool(Pool pool) { return pools_.emplace(pool.name, pool).second; }
  [[nodiscard]] const Pool* find_pool(const std::string& name) const;
  Scope* new_scope(const Scope* parent);
  [[nodiscard]] Scope* root_scope() const { return scopes_.front().get(); }

  // A binding of an edge as Ninja evaluates it: the edge's own, the rule's (late), the file's.
  [[nodiscard]] std::string binding(EdgeId id, std::string_view name) const;
  // What to build when nothing is asked for: the default nodes, or all that no edge uses.
  [[nodiscard]] std::vector<NodeId> default_targets() const;
  // The nodes asked for by name. An unknown name is bad input, with the nearest one as its hint.
  [[nodiscard]] Result<std::vector<NodeId>> targets(std::span<const std::string> names) const;
  // A cycle among the edges needed for `targets`, as "a -> b -> a"; nullopt where there is none.
  [[nodiscard]] std::optional<std::string> find_cycle(std::span<const NodeId> targets) const;

 private:
  std::vector<Node> nodes_;
  std::unordered_map<std::string, NodeId> by_path_;
  std::vector<Edge> edges_;
  std::vector<NodeId> defaults_;
  std::map<std::string, Pool> pools_;
  std::vector<std::unique_ptr<Scope>> scopes_;
};

// Returns `path` without "." parts, doubled slashes and resolvable ".." parts, as Ninja does.
std::string canonical_path(std::string_view path);

}  // namespace evolve
