// The plan: which edges a build needs, and the state of each. Every change of state passes through
// set(), which keeps the queues, pools and counters in step. Knows nothing of keys or processes.
//
//   unwanted     wanted ──► ready ──► queued ──► running ──► done
//                  │          └──────────┴──(hit)───────────►┘│
//                  └──► skipped ◄── (an input's edge failed)   └► failed
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/core/graph.h"

namespace evolve {

enum class EdgeState {
  unwanted,  // no target needs it
  wanted,    // an input's edge is not done
  ready,     // all inputs are there; its key was not looked up yet
  queued,    // has to run, and waits for a slot and its pool
  running,   // runs, or waits for the edge that runs the same action
  done,      // its outputs are there
  failed,    // a fault
  skipped,   // an edge that it needs failed or was skipped
};

class Plan {
 public:
  // Wants the edges that `targets` and their validations need. `graph` must outlive the plan.
  // REQUIRES: no cycle above the targets.
  Plan(const Graph& graph, std::span<const NodeId> targets);

  // The first edge, in the manifest's order, whose key can be looked up. It stays ready.
  [[nodiscard]] std::optional<EdgeId> next_ready() const;
  // The first queued edge whose pool has room. It stays queued.
  [[nodiscard]] std::optional<EdgeId> next_queued() const;

  void queue(EdgeId id) { set(id, EdgeState::queued); }
  void run(EdgeId id) { set(id, EdgeState::running); }
  // Makes a ready edge wait for what makes `nodes`, too: inputs that were found out late. Wants
  // their edges. False: all of them are done, and the edge stays ready. Bad input: one of them
  // needs this very edge.
  Result<bool> wait_for(EdgeId id, std::span<const NodeId> nodes);
  // Marks the edge done and readies what waited for it alone.
  void finish(EdgeId id);
  // Marks the edge failed and skips what needs it.
  void fail(EdgeId id);

  [[nodiscard]] EdgeState state(EdgeId id) const { return states_[index(id)]; }
  [[nodiscard]] size_t count(EdgeState state) const { return counts_[static_cast<size_t>(state)]; }
  // Edges wanted at the start, phony ones left out.
  [[nodiscard]] size_t total() const { return total_; }
  [[nodiscard]] const std::vector<EdgeId>& wanted_edges() const { return wanted_; }
  // Nothing is ready, queued or running.
  [[nodiscard]] bool is_finished() const;

 private:
  void want(std::span<const NodeId> targets);
  // True where `id` waits for `other`, directly or not.
  [[nodiscard]] bool needs(EdgeId id, EdgeId other) const;
  void set(EdgeId id, EdgeState state);
  // Edges that wait for `id`.
  [[nodiscard]] std::vector<EdgeId> dependents(EdgeId id) const;

  const Graph& graph_;
  std::vector<EdgeState> states_;
  std::vector<int> missing_;                          // per edge: edges that it waits for
  std::map<EdgeId, std::vector<EdgeId>> late_users_;  // who waits for an edge by wait_for
  std::array<size_t, 8> counts_{};                    // per state
  std::set<EdgeId> ready_;
  std::set<EdgeId> queued_;
  std::map<const Pool*, int> in_pool_;  // running edges
  std::vector<EdgeId> wanted_;          // in manifest order
  size_t total_ = 0;
};

}  // namespace evolve
