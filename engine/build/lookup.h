// The look-up of an edge: whether it is up to date, and the result that is stored for it. The build
// loop and `why` use the same look-up, so that `why` explains the decision of a build.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/build/action_keys.h"
#include "engine/build/file_table.h"
#include "engine/build/plan.h"
#include "engine/build/reason.h"
#include "engine/build/results.h"
#include "engine/build/snapshot.h"
#include "engine/core/ports.h"
#include "engine/graph/graph.h"

namespace evolve {

// Everything that is known about an edge before it runs.
struct LookedUpEdge {
  std::vector<NodeId> dirty;           // inputs that are always new, so that the edge has to run
  std::vector<NodeId> unmade;          // discovered inputs that other edges have yet to make
  KeyWriter declared;                  // the key without discovered inputs
  std::optional<KeyWriter> full;       // with discovered inputs; nullopt: some inputs are unmade
  std::optional<ActionResult> result;  // the stored result: a hit
};

// A stored result to put in place.
struct Hit {
  ActionResult result;
  bool is_all_absent = false;  // none of the output files exists
};

// Hits by edge.
using Hits = std::map<EdgeId, Hit>;

struct Judgement {
  std::optional<Reason> reason;    // why the edge has to run; nullopt: it is up to date
  std::vector<NodeId> discovered;  // files that its last run read beyond its declared inputs
  float seconds = 0;               // how long that run took
};

// A rule that decides which edges are up to date, in place of the rule by content.
class UpToDateRule {
 public:
  virtual ~UpToDateRule() = default;
  // Decides about an edge. `is_unchanged`: by content the edge is up to date. REQUIRES: the digests
  // of the inputs that other edges make are set.
  virtual Result<Judgement> judge(EdgeId edge, bool is_unchanged) = 0;
  // Called for each edge that ran.
  virtual Status ran(EdgeId edge, const ActionResult& result) = 0;
};

class Lookup {
 public:
  // Discovered files become nodes of `graph`. The look-up notes the states of files and edges in
  // `snapshot`. All references must outlive this.
  Lookup(Graph& graph, Files& files, Memo& memo, Ledger& ledger, Snapshot& snapshot,
         BuildContext context);
  // A look-up cannot be copied, because its parts refer to each other.
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  [[nodiscard]] FileTable& files() { return files_; }
  [[nodiscard]] ActionKeys& keys() { return keys_; }
  [[nodiscard]] Results& results() { return results_; }
  [[nodiscard]] const Snapshot& snapshot() const { return snapshot_; }

  // From now on `rule`, which must outlive this, decides which edges are up to date. All other
  // edges run, even if a result is stored for them.
  void use(UpToDateRule& rule) { rule_ = &rule; }

  // Announces the keys of all ready edges to a remote memo. Does nothing if the key of the first
  // ready edge was already announced.
  Status look_ahead(BuildPlan& plan);

  // Whether the edge is up to date: its key is the one in the snapshot, and its output files are
  // unchanged. If there is another rule, that rule decides. True: the digests of the outputs are
  // set. REQUIRES: the digests of the inputs that other edges make are set.
  Result<bool> is_settled(EdgeId edge);
  // Computes the keys of the edge, and looks for a stored result. REQUIRES: the digests of the
  // inputs that other edges make are set.
  Result<LookedUpEdge> find(EdgeId edge);
  // Returns the reasons why the edge has to run, such as "never built", or a difference from its
  // last record: "input 'x': a -> b".
  Result<std::vector<Reason>> reasons(EdgeId edge, const LookedUpEdge& finding);

  // Notes that the edge's outputs are in place with this result.
  Status settle(EdgeId edge, const ActionResult& result);
  // Accepts the existing files as the edge's outputs, so that the edge is settled. If no run of the
  // edge is known here, the edge is also up to date from now on. The files do not become blobs,
  // because a result that was not made here is valid only for the files in place. False: an output
  // is missing, or an input is always new. REQUIRES: the digests of the inputs that other edges
  // make, and of the discovered inputs, are set.
  Result<bool> adopt(EdgeId edge, const Judgement& judgement);
  // Returns the files that the edge's last run here read in addition to its declared inputs.
  // Nullopt: no run is recorded.
  [[nodiscard]] std::optional<std::vector<NodeId>> discovered(EdgeId edge) const;

 private:
  [[nodiscard]] bool has_new_input(EdgeId edge) const;
  // Whether the edge's key and output files are the same as in the snapshot.
  Result<bool> is_unchanged(EdgeId edge);
  void note_settled(EdgeId edge);
  // Returns the declared key of an edge; nullopt: a stored result would be of no use.
  Result<std::optional<KeyWriter>> key_to_ask(EdgeId edge);
  // Returns the inputs that a run under this declared key discovered; empty: no list is known, or
  // the list is from another machine and names a file that cannot be looked at here.
  Result<std::vector<std::string>> discovered_by(const Digest& declared_key);

  Graph& graph_;
  Ledger& ledger_;
  Snapshot& snapshot_;
  BuildContext context_;
  FileTable files_;
  ActionKeys keys_;
  Results results_;
  UpToDateRule* rule_ = nullptr;
  std::vector<bool> foreseen_;  // by edge
  std::vector<bool> settled_;   // by edge
};

}  // namespace evolve
