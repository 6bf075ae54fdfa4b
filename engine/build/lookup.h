// What an edge would do: its key, from its inputs' digests, and the result that is stored for it.
// Used by the build loop and by `why`, so that the explanation is the decision.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/build/edge_key.h"
#include "engine/build/plan.h"
#include "engine/build/snapshot.h"
#include "engine/core/key.h"
#include "engine/core/machine_paths.h"
#include "engine/core/ports.h"
#include "engine/graph/graph.h"

namespace evolve {

// What is known of an edge before it runs.
struct Finding {
  std::vector<NodeId> dirty;           // inputs that are always new: the edge has to run
  std::vector<NodeId> unmade;          // discovered inputs that other edges have yet to make
  KeyWriter declared;                  // the key without discovered inputs
  std::optional<KeyWriter> full;       // with those that its last run discovered; none: `unmade`
  std::optional<ActionResult> result;  // the stored result: a hit
};

// A stored result that is to be put in place.
struct Hit {
  ActionResult result;
  bool is_all_absent = false;  // there was no file in the place of any output
};

// Where keys get from the world what the manifest does not say.
struct Surroundings {
  std::vector<MachineBinding> machine;
  // The declared environment's source: the variables of this process.
  std::map<std::string, std::string> environment;
};

struct Judgement {
  std::string reason;              // why the edge has to run; empty: it is up to date
  std::vector<NodeId> discovered;  // what its last run read besides its declared inputs
  float seconds = 0;               // and took
};

// Another rule of what is up to date than that by content.
class UpToDateRule {
 public:
  virtual ~UpToDateRule() = default;
  // `is_unchanged`: by content the edge is up to date.
  // REQUIRES: the digests of the edge's made inputs are set.
  virtual Result<Judgement> judge(EdgeId edge, bool is_unchanged) = 0;
  // Told of each edge that ran.
  virtual Status ran(EdgeId edge, const ActionResult& result) = 0;
};

class Lookup {
 public:
  // Files that were discovered become nodes of `graph`. What is found out of files and edges is
  // told to `snapshot`.
  Lookup(Graph& graph, Files& files, Memo& memo, Ledger& ledger, Snapshot& snapshot,
         Surroundings surroundings);

  // From now on `rule`, which must outlive this, says what is up to date; what is not runs,
  // whatever is stored for it.
  void use(UpToDateRule& rule) { rule_ = &rule; }

  // Of edges with `tentative = 1`, results under these keys are final: no other stored one is, and
  // of these the ledger's.
  void confirm(std::vector<Digest> keys) { confirmed_ = std::move(keys); }

  // From now on look_ahead() has the memo foresee what is looked up: it is far away.
  void use_far_memo() { is_memo_far_ = true; }
  [[nodiscard]] bool has_far_memo() const { return is_memo_far_; }
  // Tells the memo of the keys of all edges that are ready, unless it was told of the first.
  Status look_ahead(Plan& plan);

  // The digest of a node's file: a source file's from disk (once), a made one's as it was set. A
  // missing source is bad input, in Ninja's words.
  Result<Digest> digest(NodeId node, EdgeId needed_by);
  // What lies at a node's path now.
  Result<std::optional<FileState>> look(NodeId node);
  void set_digest(NodeId node, const Digest& digest);
  // Notes what was put at a node's path.
  void set_state(NodeId node, const FileState& state);
  [[nodiscard]] bool knows(NodeId node) const;
  // The digest that keys were made of; nullopt: none was, or nothing was there.
  [[nodiscard]] std::optional<Digest> known_digest(NodeId node) const;
  // Counts on each time that a source is looked at first, or is found to have been changed.
  [[nodiscard]] int64_t moment() const { return moment_; }
  // A source that an edge read which has ended, declared or among `discovered`, symbolic paths, and
  // that was changed since the edge was looked up. Keys are made of what lies there now. If
  // `is_strict`, a file that was written anew with the same bytes was changed: others may have lain
  // there meanwhile. Nullopt: none was.
  struct Since {
    int64_t moment = 0;   // moment(), when the edge was looked up
    int64_t started = 0;  // when its command was started, as files tell the time
  };
  Result<std::optional<NodeId>> changed_since(EdgeId edge, std::span<const std::string> discovered,
                                              const Since& since, bool is_strict);
  // Gives the result of an edge the keys of what its inputs are now.
  Status rekey(EdgeId edge, ActionResult& result);
  // The node of a discovered file, whose path is symbolic (key.h).
  NodeId node_of(const std::string& discovered);

  // Gives a phony edge's outputs their digest, of its inputs and of files that lie there by their
  // names. One with no inputs, no validations and no file is always new, and so is what uses it.
  // REQUIRES: the digests of the edge's made inputs are set.
  Status settle_phony(EdgeId edge);
  // True where the snapshot tells that the edge is up to date: its key is the one that it had, and
  // its outputs, whose digests are then set, are the files that they were. Or else where another
  // rule says so.
  // REQUIRES: the digests of the edge's made inputs are set.
  Result<bool> is_settled(EdgeId edge);
  // Notes that the result is in place as the edge's outputs.
  Status settle(EdgeId edge, const ActionResult& result);
  // Takes what lies there for what the edge gave: it is settled, and, if nothing is known of a run
  // here, up to date from now on. Its bytes do not become blobs: a result that was not made here is
  // good where it lies, and nowhere else. False: some output is not there, or an input is always
  // new. REQUIRES: the digests of the edge's made inputs, and of those discovered, are set.
  Result<bool> adopt(EdgeId edge, const Judgement& judgement);
  // The files that the edge's last run here read besides its declared inputs; nullopt: there is no
  // record of it.
  [[nodiscard]] std::optional<std::vector<NodeId>> discovered(EdgeId edge) const;
  // REQUIRES: the digests of the edge's made inputs are set.
  Result<Finding> find(EdgeId edge);
  // Keeps the result of an edge, some output of which is not in place, for who restores it.
  void note_hit(EdgeId edge, Hit hit) { hits_.insert_or_assign(edge, std::move(hit)); }
  std::optional<Hit> take_hit(EdgeId edge);
  // The key of an edge that ran, without discovered inputs: `before`, but for folders that it has
  // among its inputs or `discovered`, symbolic paths. It may have written into them, and what
  // counts is how it left them.
  Result<KeyWriter> declared_after(EdgeId edge, const KeyWriter& before,
                                   std::span<const std::string> discovered);
  // The key of an edge that ran and read `discovered`, symbolic paths, besides its declared inputs.
  Result<KeyWriter> full_key(EdgeId edge, const KeyWriter& declared,
                             std::span<const std::string> discovered);
  // The variables that the edge declares in `secrets = NAME …`, as far as they are set: its command
  // may see them, and no key or record holds them.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> secrets(EdgeId edge) const;
  // The values of the variables that the edge declares in `environment = NAME …`.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> declared_environment(
      EdgeId edge) const;
  // Why the edge has to run, against the last record of it: "never built", "input 'x': a -> b".
  Result<std::vector<std::string>> reasons(EdgeId edge, const Finding& finding);
  // In a text of an edge with `portable = 1`, "{in3}" becomes the path that it stands for.
  [[nodiscard]] std::string with_paths(EdgeId edge, std::string text) const;
  // The name under which an edge is recorded: its first output's, without the machine's paths.
  [[nodiscard]] std::string record_name(EdgeId edge) const;
  [[nodiscard]] const Snapshot& snapshot() const { return snapshot_; }
  [[nodiscard]] std::span<const MachineBinding> machine() const { return surroundings_.machine; }

 private:
  [[nodiscard]] bool is_dirty(NodeId node) const;
  // The key without discovered inputs. REQUIRES: the digests of the edge's made inputs are set.
  Result<KeyWriter> declared_key(EdgeId edge);
  // The same, where a stored result might be of use.
  Result<std::optional<KeyWriter>> key_to_ask(EdgeId edge);
  [[nodiscard]] bool has_dirty_input(EdgeId edge) const;
  // By the snapshot alone.
  Result<bool> is_unchanged(EdgeId edge);
  // The digests of the edge's content inputs and its environment, into inputs_.
  Status read_inputs(EdgeId edge);
  // What stands for it in a key: its digest, "missing", or the path that a binding stands for.
  // REQUIRES: knows(node).
  Result<std::string> discovered_value(NodeId node);
  // A file that no edge makes, as keys have it.
  struct Source {
    std::optional<FileState> state;  // nullopt: nothing lies there
    int64_t first_moment = 0;        // when it was looked at first
    int64_t other_moment = 0;        // when it was last found to be another; 0: never
  };
  // The digest of a file that no edge makes, now; of a folder that of the names in it. Nullopt: it
  // is not there.
  Result<std::optional<Digest>> source_digest(NodeId node);
  // What is known of a source that is `now` so, and is so in keys from now on; `is_strict` as in
  // changed_since().
  Source note_source(NodeId node, const std::optional<FileState>& now, bool is_strict);
  // What it adds to a key.
  Result<Digest> discovered_part(NodeId node);
  // The edge's key, with those discovered inputs, without the parts that it was made of.
  Result<Digest> quick_key(EdgeId edge, std::span<const NodeId> discovered);
  void note_settled(EdgeId edge);
  Result<std::vector<std::string>> discovered_by(const Digest& declared_key);
  [[nodiscard]] bool is_tentative(EdgeId edge) const;
  [[nodiscard]] bool is_confirmed(const Digest& key) const;
  Result<std::optional<ActionResult>> stored(EdgeId edge, const Digest& key);
  Graph& graph_;
  Files& files_;
  Memo& memo_;
  Ledger& ledger_;
  Snapshot& snapshot_;
  UpToDateRule* rule_ = nullptr;
  bool is_memo_far_ = false;
  std::vector<Digest> confirmed_;
  std::vector<bool> foreseen_;  // by edge
  Surroundings surroundings_;
  std::vector<Digest> digests_;  // by node; zero: not known
  std::vector<bool> dirty_;      // by node
  std::set<NodeId> folders_;     // sources
  std::unordered_map<NodeId, Source> sources_;
  int64_t moment_ = 0;
  std::vector<bool> settled_;  // by edge
  std::unordered_map<EdgeId, Hit> hits_;
  std::vector<Digest> discovered_parts_;  // by node: the part of a key; zero: not known
  InputDigests inputs_;                   // of the edge that is looked at
  KeyWriter quick_{KeyWriter::Keep::digests};
  std::string path_;
};

}  // namespace evolve
