// Ninja's own rule: an edge is up to date if its command is the logged one and its outputs are no
// older than its inputs (ninja's DependencyScan::RecomputeOutputDirty). The rule decides which
// outputs are taken over from a folder that stock ninja built. With `--mtime` the rule decides in
// every build. Then evolve also writes ninja's logs, so that stock ninja and evolve may take turns.
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

  // Reads the logs. False: no log can be read, so that no output counts as built.
  bool load() { return logs_.load(); }
  // Accepts as up to date every edge that this rule finds up to date.
  Status adopt_all();
  // Accepts one edge as up to date. False: the edge is not up to date.
  Result<bool> adopt(EdgeId id);

  Result<Judgement> judge(EdgeId id, bool is_unchanged) override;
  Status ran(EdgeId id, const ActionResult& result) override;
  // Writes the log entries that judge() added for edges without one.
  Status flush() { return logs_.flush(); }

 private:
  struct Newest {
    int64_t mtime = 0;
    NodeId node{};
  };

  // The facts by which an edge's outputs are judged.
  struct Case {
    std::string command;
    bool is_generator = false;
    bool is_restat = false;
    bool is_unchanged = false;  // by content
    Newest newest = {};         // of the inputs
  };

  // Returns the time of a node's file; nullopt: no file.
  std::optional<int64_t> mtime(NodeId node);
  // Sets `newest` to the newest of the nodes and of its old value. False: a node is missing or not
  // up to date.
  bool count_in(std::span<const NodeId> nodes, Newest& newest);
  // Returns the files that the command read besides its declared inputs; none if the edge has
  // neither `depfile` nor `deps`. Nullopt: the depfile is missing or malformed, or the log of
  // discovered inputs has no current entry.
  std::optional<std::vector<NodeId>> discovered(EdgeId id);
  std::optional<std::vector<std::string>> told(EdgeId id);
  // Returns why `output` is not up to date, so that the edge has to run. Nullopt: the output is up
  // to date. `entry`: the log's entry for this command; may be null.
  std::optional<Reason> why_run(const Case& its, NodeId output, const LogEntry* entry);
  // Returns the text whose hash ninja logs: the command, and the content of the response file.
  [[nodiscard]] std::string logged_command(EdgeId id) const;
  // Logs `entry` with the command's hash for each output. With `deps`, also logs `discovered`.
  void log(EdgeId id, LogEntry entry, std::span<const NodeId> discovered);

  const Graph& graph_;
  Lookup& lookup_;
  Files& files_;
  Clock& clock_;
  double begun_;
  LogFiles logs_;
  std::vector<int64_t> mtimes_;  // by node; 0: not looked up, -1: missing
  std::vector<int64_t> judged_;  // by edge: time of judge(); the command sees all older writes
};

}  // namespace evolve::ninja
