// The build plan: the edges that a build needs, and the state of each edge. Only set() changes a
// state, and keeps queues, pools and counters in step. The plan uses no keys or processes.
//
//                             ┌──────(an input was changed)─┐
//                             │          ┌─(retry)─┐        │
//   unwanted ──► wanted ──► ready ──► queued ──► running ───┴► done
//                  │          └──────────┴──(hit)──────────►─┘│
//                  └──► skipped ◄── (an input's edge failed)   └► failed
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "engine/graph/extensions.h"
#include "engine/graph/graph.h"

namespace evolve {

enum class EdgeState : uint8_t {
  unwanted,  // no target needs it
  wanted,    // an input's edge is not done
  ready,     // all inputs are there; its key was not looked up yet
  queued,    // has to run; waits for a slot, its pool and its resources
  running,   // runs, or waits for the edge that runs the same action
  done,      // its outputs are there
  failed,    // a fault
  skipped,   // an edge that it needs failed or was skipped
};

class BuildPlan {
 public:
  // How long an edge is expected to run, in any unit; nullopt: as long as the others on average.
  using Cost = std::function<std::optional<double>(EdgeId)>;

  // Wants the edges that `targets` and their validations need. `graph` must outlive the plan. The
  // edge with the longest way to the end of the build (the sum of the costs along it) goes first;
  // edges with equal ways go in manifest order. Edges that run together need no more of a resource
  // than `capacity` has; an edge that needs more runs while no other edge uses the resource.
  // Without a capacity, memory is unlimited, and any other resource serves one edge at a time.
  // REQUIRES: the targets depend on no cycle.
  BuildPlan(const Graph& graph, std::span<const NodeId> targets, Cost cost = {},
            Resources capacity = {});

  // Returns the first edge whose key can be looked up. The edge stays ready.
  [[nodiscard]] std::optional<EdgeId> next_ready();
  // Returns all ready edges: in the manifest's order, and then those that were wanted late.
  [[nodiscard]] std::vector<EdgeId> all_ready() const;
  enum class Where {
    anywhere,
    elsewhere,  // this machine has no room for another edge
  };
  // Returns the first queued edge whose pool has room, and whose needs can be met. The edge stays
  // queued.
  [[nodiscard]] std::optional<EdgeId> next_queued(Where where = Where::anywhere);

  // Whether the edge runs in a node pool, not on this machine.
  [[nodiscard]] bool is_elsewhere(EdgeId id) const { return line_of(id).is_elsewhere; }

  void queue(EdgeId id) { set(id, EdgeState::queued); }
  void run(EdgeId id) { set(id, EdgeState::running); }
  // Makes a running edge ready again, because a file that the edge read has changed.
  void ready_again(EdgeId id) { set(id, EdgeState::ready); }
  // Makes a ready edge also wait for the edges that make `nodes`, which are inputs that were found
  // late. The edges that make `nodes` become wanted. False: all of these edges are done, and the
  // waiting edge stays ready. Bad input: one of these edges needs the waiting edge.
  Result<bool> wait_for(EdgeId id, std::span<const NodeId> nodes);
  // The edges that make `nodes` became known only now. Makes the edges that use `nodes` wait for
  // them. Edges that have started do not wait. Bad input: an edge that makes a node needs an edge
  // that uses it.
  Status learn_makers(std::span<const NodeId> nodes);
  // Marks the edge done, and readies the edges that waited only for it.
  void finish(EdgeId id);
  // Marks the edge failed, and skips the edges that need it.
  void fail(EdgeId id);

  [[nodiscard]] EdgeState state(EdgeId id) const { return states_[index(id)]; }
  [[nodiscard]] size_t count(EdgeState state) const { return counts_[static_cast<size_t>(state)]; }
  // Returns the number of wanted edges; phony edges do not count.
  [[nodiscard]] size_t total() const { return total_; }
  [[nodiscard]] const std::vector<EdgeId>& wanted_edges() const { return wanted_; }

 private:
  // A place in a queue. If its edge has left the queue, the place stays until it comes to the
  // front.
  struct Place {
    float weight = 0;
    EdgeId edge{};

    // True: `other` goes first.
    friend bool operator<(const Place& place, const Place& other) {
      if (place.weight != other.weight) return place.weight < other.weight;
      return place.edge > other.edge;
    }
  };
  // Edges of one pool with the same needs. Either all of these edges have room to start, or none
  // has.
  struct Line {
    const Pool* pool;
    Resources needs;
    bool is_elsewhere = false;  // they run in their node pool

    friend bool operator<(const Line& a, const Line& b) {
      return std::tie(a.pool, a.needs) < std::tie(b.pool, b.needs);
    }
  };

  // The amount of a resource that running edges use together.
  struct InUse {
    double amount = 0;
    int edges = 0;
  };

  void want(std::span<const NodeId> targets);
  [[nodiscard]] Error cycle(EdgeId id, NodeId node) const;
  // Whether `id` waits for `other`, directly or through other edges.
  [[nodiscard]] bool needs(EdgeId id, EdgeId other) const;
  // Whether the edge has failed or was skipped.
  [[nodiscard]] bool has_failed(EdgeId id) const {
    return state(id) == EdgeState::failed || state(id) == EdgeState::skipped;
  }
  // Marks the edge skipped, and also the edges that need it.
  void skip(EdgeId id);
  void set(EdgeId id, EdgeState state);
  [[nodiscard]] Line line_of(EdgeId id) const;
  [[nodiscard]] bool has_room(const Line& line) const;
  // Counts an edge of `line` that starts (`count` is 1) or ends (`count` is -1).
  void occupy(const Line& line, int count);
  // Returns the edges that wait for `id`; valid until the next call.
  const std::vector<EdgeId>& dependents(EdgeId id);
  // Sets each wanted edge's weight: the length of its longest way to the end of the build.
  void weigh();
  [[nodiscard]] float weight_of(EdgeId id) const;
  // Drops places whose edge is no longer in `state`, and returns the first place that is left;
  // null: no place is left.
  const Place* front(std::priority_queue<Place>& queue, EdgeState state) const;

  const Graph& graph_;
  Cost cost_;
  Resources capacity_;
  std::vector<EdgeState> states_;
  std::vector<int> missing_;                          // per edge: edges that it waits for
  std::map<EdgeId, std::vector<EdgeId>> late_users_;  // edges that wait for an edge by wait_for()
  std::array<size_t, 8> counts_{};                    // per state
  std::priority_queue<Place> ready_;
  std::map<Line, std::priority_queue<Place>> queued_;
  std::map<const Pool*, int> running_;  // edges
  std::map<std::string, InUse> in_use_;
  std::vector<float> weights_;  // per edge; empty: no costs
  std::vector<EdgeId> wanted_;  // in manifest order; edges that are wanted late come last
  std::vector<EdgeId> dependents_;
  size_t total_ = 0;
};

}  // namespace evolve
