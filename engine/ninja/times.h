// Ninja's own rule: an edge is up to date if its command is the logged one and its outputs are no
// older than its inputs (ninja's DependencyScan::RecomputeOutputDirty). It decides what is taken
// over of a folder that stock ninja built, and, with `--mtime`, every build; then ninja's logs are
// kept, too, so that stock ninja and evolve may take turns.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/build/lookup.h"
#include "engine/core/ports.h"
#include "engine/graph/graph.h"
#include "engine/ninja/log_files.h"

namespace evolve::ninja {

class Times final : public UpToDateRule {
 public:
  Times(const Graph& graph, Lookup& lookup, Files& files, Clock& clock);

  // Reads the logs. False: there is none that can be read, and all is as if nothing was built.
  bool load() { return logs_.load(); }
  // Takes for up to date all edges that are so by this rule.
  Status adopt_all();
  // Takes one for it; false: it is not.
  Result<bool> adopt(EdgeId id);

  Result<Judgement> judge(EdgeId id, bool is_unchanged) override;
  Status ran(EdgeId id, const ActionResult& result) override;
  // Writes of what judge() found that nothing was logged.
  Status flush() { return logs_.flush(); }

 private:
  struct Newest {
    int64_t mtime = 0;
    NodeId node{};
  };

  // What an edge's outputs are judged by.
  struct Case {
    std::string command;
    bool is_generator = false;
    bool is_restat = false;
    bool is_unchanged = false;  // by content
    Newest newest;              // of its inputs
  };

  // Nullopt: nothing is there.
  std::optional<int64_t> mtime(NodeId node);
  // The newest of the nodes and `newest`; false: one is not there, or not up to date.
  bool count_in(std::span<const NodeId> nodes, Newest& newest);
  // What the command read besides its declared inputs; nullopt: it is to be asked again.
  std::optional<std::vector<NodeId>> discovered(EdgeId id);
  std::optional<std::vector<std::string>> told(EdgeId id);
  // Empty: the output is up to date. `entry`: what is logged of this command; may be null.
  std::string why_run(const Case& its, NodeId output, const LogEntry* entry);
  // What ninja hashes.
  [[nodiscard]] std::string logged_command(EdgeId id) const;
  // Its command's hash is set here.
  void log(EdgeId id, LogEntry entry, std::span<const NodeId> discovered);

  const Graph& graph_;
  Lookup& lookup_;
  Files& files_;
  Clock& clock_;
  double begun_;
  LogFiles logs_;
  std::vector<int64_t> mtimes_;  // by node; 0: not looked up, -1: not there
  std::vector<int64_t> judged_;  // by edge: when; its command sees what is older
};

}  // namespace evolve::ninja
