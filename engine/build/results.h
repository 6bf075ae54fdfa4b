// The stored results of edges: in the memo, or else in the ledger.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/ports.h"
#include "engine/graph/graph.h"

namespace evolve {

class Results {
 public:
  // All references must outlive this.
  Results(const Graph& graph, Memo& memo, Ledger& ledger)
      : graph_(graph), memo_(memo), ledger_(ledger) {}

  // Makes the ledger's results under these keys final for edges with `tentative = 1`. Other stored
  // results do not count for these edges.
  void confirm(std::vector<Digest> keys) { confirmed_ = std::move(keys); }
  // Whether a result under `key` may stand for the edge.
  [[nodiscard]] bool may_stand(EdgeId edge, const Digest& key) const;

  // Notes that the memo is remote, so that look-ups should be announced to it in advance.
  void use_far_memo() { is_far_ = true; }
  [[nodiscard]] bool is_far() const { return is_far_; }
  Status foresee(std::span<const Digest> keys) { return memo_.foresee(keys); }

  // Returns the result that is stored under a key; nullopt: no result.
  Result<std::optional<ActionResult>> find(EdgeId edge, const Digest& key);
  // Returns the inputs (symbolic paths) that a run under this declared key discovered; empty: no
  // run is known, or it discovered nothing.
  Result<std::vector<std::string>> discovered(const Digest& declared_key);

 private:
  [[nodiscard]] bool is_confirmed(const Digest& key) const;

  const Graph& graph_;
  Memo& memo_;
  Ledger& ledger_;
  std::vector<Digest> confirmed_;
  bool is_far_ = false;
};

}  // namespace evolve
