// What an edge would do: its key, from its inputs' digests, and the result that is stored for it.
// Used by the build loop and by `why`, so that the explanation is the decision.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/core/graph.h"
#include "engine/core/key.h"
#include "engine/core/ports.h"

namespace evolve {

// What is known of an edge before it runs.
struct Finding {
  std::vector<NodeId> dirty;           // inputs that are always new: the edge has to run
  std::vector<NodeId> unmade;          // discovered inputs that other edges have yet to make
  KeyWriter declared;                  // the key without discovered inputs
  std::optional<KeyWriter> full;       // with them; none where the action never ran
  std::optional<ActionResult> result;  // the stored result: a hit
};

class Lookup {
 public:
  // `environment` is the declared environment's source: the variables of this process.
  Lookup(const Graph& graph, Files& files, Memo& memo, Ledger& ledger,
         std::vector<MachineBinding> machine, std::map<std::string, std::string> environment);

  // The digest of a node's file: a source file's from disk (once), a made one's as set_digest told.
  // A missing source is bad input, in Ninja's words.
  Result<Digest> digest(NodeId node, EdgeId needed_by);
  void set_digest(NodeId node, Digest digest) { digests_[node] = digest; }
  [[nodiscard]] bool knows(NodeId node) const;

  // Gives a phony edge's outputs their digest, of its inputs and of files that lie there by their
  // names. One with no inputs, no validations and no file is always new, and so is what uses it.
  // REQUIRES: the digests of the edge's made inputs are set.
  Status settle_phony(EdgeId edge);
  // REQUIRES: the digests of the edge's made inputs are set.
  Result<Finding> find(EdgeId edge);
  // The key of an edge that ran and read `discovered` besides its declared inputs.
  Result<KeyWriter> full_key(EdgeId edge, const KeyWriter& declared,
                             const std::vector<std::string>& discovered);
  // The values of the variables that the edge declares in `environment = NAME …`.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> declared_environment(
      EdgeId edge) const;
  // Why the edge has to run, against the last record of it: "never built", "input 'x': a -> b".
  Result<std::vector<std::string>> reasons(EdgeId edge, const Finding& finding);

 private:
  Result<std::optional<std::vector<std::string>>> discovered_by(const Digest& declared_key);
  Result<std::optional<ActionResult>> stored(const Digest& key);
  // "{in3}" in a text becomes the path that it stands for.
  [[nodiscard]] std::string with_paths(EdgeId edge, std::string text) const;

  const Graph& graph_;
  Files& files_;
  Memo& memo_;
  Ledger& ledger_;
  std::vector<MachineBinding> machine_;
  std::map<std::string, std::string> environment_;
  std::unordered_map<NodeId, Digest> digests_;
  std::unordered_set<NodeId> dirty_;
  std::unordered_map<std::string, std::optional<Digest>> discovered_digests_;
};

}  // namespace evolve
