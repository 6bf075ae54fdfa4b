// The snapshot: the states of a manifest's files when a build last looked at them, and the edges
// that were up to date then. It saves the next build from reading files and from asking the memo.
// The loss of a snapshot costs only time, because the files and the memo give the same answers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/file_state.h"
#include "engine/graph/graph.h"

namespace evolve {

class Snapshot {
 public:
  // An edge that was up to date. Its outputs had the states that the snapshot has for their files.
  struct Settled {
    Digest key;
    float seconds = 0;                   // wall time of the run
    std::span<const NodeId> discovered;  // files read beyond the declared inputs, in order
  };

  // Returns the known state of the file; null: no state is known. Valid until the next set_file().
  [[nodiscard]] const FileState* file(NodeId id) const;
  void set_file(NodeId id, const FileState& state);
  [[nodiscard]] std::optional<Settled> edge(EdgeId id) const;
  void set_edge(EdgeId id, const Settled& settled);
  void forget(EdgeId id);
  // Whether anything was set since the snapshot was read.
  [[nodiscard]] bool is_changed() const { return is_changed_; }

  // Returns the stored form (cache/README.md). `graph`: the graph whose nodes and edges were set.
  [[nodiscard]] std::string encode(const Graph& graph) const;
  // Reads the stored form for a graph that may have changed since. Files and edges that the graph
  // no longer has are dropped. Discovered files become nodes of the graph. Nullopt: the bytes are
  // not a snapshot, or are damaged.
  static std::optional<Snapshot> decode(std::string_view bytes, Graph& graph);

 private:
  struct Entry {
    Digest key;
    float seconds = 0;
    uint32_t first = 0;  // place in discovered_
    uint32_t count = 0;
    bool is_known = false;
  };

  std::vector<FileState> files_;  // by node; zero content: not known
  std::vector<Entry> edges_;      // by edge
  std::vector<NodeId> discovered_;
  bool is_changed_ = false;
};

}  // namespace evolve
