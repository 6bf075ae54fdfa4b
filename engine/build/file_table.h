// The files of a build: the state of the file at each node's path, and the digest from which keys
// are made.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/build/snapshot.h"
#include "engine/core/machine_paths.h"
#include "engine/core/ports.h"
#include "engine/graph/graph.h"

namespace evolve {

class FileTable {
 public:
  // Discovered files become nodes of `graph`. The table notes the states of files in `snapshot`.
  // All references, and the bindings of `machine`, must outlive this.
  FileTable(Graph& graph, Files& files, Snapshot& snapshot,
            std::span<const MachineBinding> machine);

  // Returns the digest of a node's file: read from disk (once) for a source, or as it was set for a
  // file that an edge makes. Bad input, in Ninja's words: the source is missing.
  Result<Digest> digest(NodeId node, EdgeId needed_by);
  // Returns the present state of the file at a node's path; nullopt: no file.
  Result<std::optional<FileState>> look(NodeId node);
  void set_digest(NodeId node, const Digest& digest);
  // Notes the state of a file that was put at a node's path.
  void set_state(NodeId node, const FileState& state);
  // Whether the node's digest is available: always for sources, for other files once it was set.
  [[nodiscard]] bool knows(NodeId node) const;
  // Returns the digest from which keys were made. Nullopt: no key was made from this file, or the
  // file was missing.
  [[nodiscard]] std::optional<Digest> known_digest(NodeId node) const;

  // Gives a phony edge's outputs their digest. The digest comes from the edge's inputs or, with no
  // inputs and no validations, from the files under the outputs' names. An output with no inputs,
  // no validations and no file is always new, and so are the outputs of phony edges that use it.
  // REQUIRES: the digests of the inputs that other edges make are set.
  Status settle_phony(EdgeId edge);
  [[nodiscard]] bool is_always_new(NodeId node) const;

  // Returns the node of a discovered file, whose path is symbolic (core/machine_paths.h).
  NodeId discovered_node(const std::string& path);
  // Returns the value that a discovered node has in a key: its digest, "missing", or the path for
  // which a binding stands. REQUIRES: knows(node).
  Result<std::string> discovered_value(NodeId node);
  // Returns the digest of what a discovered node contributes to a key.
  Result<Digest> discovered_part(NodeId node);

  // Returns a number that grows when a source is first looked at, or is found to have changed.
  [[nodiscard]] int64_t moment() const { return moment_; }
  struct Since {
    int64_t moment = 0;   // moment() when the edge was looked up
    int64_t started = 0;  // when its command was started, in file times
  };
  // Returns a source that an edge has read and that was changed after `since`. The source is a
  // declared input, or among `discovered` (symbolic paths). From now on keys are made from the
  // present state of the source. With `is_strict` a file that was written again with the same bytes
  // counts as changed, because other bytes may have been there in between. Nullopt: no source was
  // changed.
  Result<std::optional<NodeId>> changed_since(EdgeId edge, std::span<const std::string> discovered,
                                              const Since& since, bool is_strict);

  // Forgets the digests of the source folders among the edge's inputs and `discovered`, because the
  // edge's command may have written into them. False: there are no such folders.
  bool forget_folders(EdgeId edge, std::span<const std::string> discovered);

 private:
  // A file that no edge makes, in the state from which keys are made.
  struct Source {
    std::optional<FileState> state;  // nullopt: nothing is there
    int64_t first_moment = 0;        // when it was first looked at
    int64_t other_moment = 0;        // when it was last found changed; 0: never
  };

  // Returns the digest of a source as it is now; for a folder, the digest of the names in it.
  // Nullopt: the source is missing.
  Result<std::optional<Digest>> source_digest(NodeId node);
  // Notes the present state of a source, from which keys are made from now on. `is_strict` means
  // the same as in changed_since().
  Source note_source(NodeId node, const std::optional<FileState>& now, bool is_strict);

  Graph& graph_;
  Files& files_;
  Snapshot& snapshot_;
  std::span<const MachineBinding> machine_;
  std::vector<Digest> digests_;   // by node; zero: not known
  std::vector<bool> always_new_;  // by node
  std::set<NodeId> folders_;      // sources
  std::unordered_map<NodeId, Source> sources_;
  int64_t moment_ = 0;
  std::vector<Digest> discovered_parts_;  // by node; zero: not known
  std::string path_;
};

}  // namespace evolve
