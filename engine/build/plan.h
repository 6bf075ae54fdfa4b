// The plan: which edges a build needs, and the state of each. Every change of state passes through
// set(), which keeps the queues, pools, resources and counters in step. Knows nothing of keys or
// processes.
//
//                                        ┌─(retry)─┐
//   unwanted     wanted ──► ready ──► queued ──► running ──► done
//                  │          └──────────┴──(hit)───────────►┘│
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
  queued,    // has to run, and waits for a slot, its pool and what it needs
  running,   // runs, or waits for the edge that runs the same action
  done,      // its outputs are there
  failed,    // a fault
  skipped,   // an edge that it needs failed or was skipped
};

class Plan {
 public:
  // How long an edge is expected to run, in any unit; nullopt: as long as the others.
  using Cost = std::function<std::optional<double>(EdgeId)>;

  // Wants the edges that `targets` and their validations need. `graph` must outlive the plan. Of
  // edges that could go first that one does from which the longest way leads to the end, the sum of
  // the costs along it; of equal ones, and without costs, the first in the manifest. Edges that run
  // need no more of a resource together than `capacity` says; one edge that needs more runs alone.
  // Of memory that is not limited there is no end, of a device that is not named there is one.
  // REQUIRES: no cycle above the targets.
  Plan(const Graph& graph, std::span<const NodeId> targets, Cost cost = {},
       Resources capacity = {});

  // The first edge whose key can be looked up. It stays ready.
  [[nodiscard]] std::optional<EdgeId> next_ready();
  // All of those, in the manifest's order.
  [[nodiscard]] std::vector<EdgeId> all_ready() const;
  enum class Where {
    anywhere,
    elsewhere,  // this machine has no room for another
  };
  // The first queued edge whose pool has room, and whose needs can be met. It stays queued.
  [[nodiscard]] std::optional<EdgeId> next_queued(Where where = Where::anywhere);

  // Whether it runs in a node pool, not on this machine.
  [[nodiscard]] bool is_elsewhere(EdgeId id) const { return line_of(id).is_elsewhere; }

  void queue(EdgeId id) { set(id, EdgeState::queued); }
  void run(EdgeId id) { set(id, EdgeState::running); }
  // Has an edge that runs be looked up again: what it read is not what it was.
  void ready_again(EdgeId id) { set(id, EdgeState::ready); }
  // Makes a ready edge wait for what makes `nodes`, too: inputs that were found out late. Wants
  // their edges. False: all of them are done, and the edge stays ready. Bad input: one of them
  // needs this very edge.
  Result<bool> wait_for(EdgeId id, std::span<const NodeId> nodes);
  // Has the edges that use `nodes`, of which it is known only now that another edge makes them,
  // wait for that edge, unless they have started. Bad input: it needs one of them.
  Status learn_makers(std::span<const NodeId> nodes);
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
  // A place in a queue. Queues keep those whose edge has left them, until they come to the front.
  struct Place {
    float weight = 0;
    EdgeId edge{};

    // True: `other` goes first.
    friend bool operator<(const Place& place, const Place& other) {
      if (place.weight != other.weight) return place.weight < other.weight;
      return place.edge > other.edge;
    }
  };
  // Edges of one pool with the same needs: they can all start, or none.
  struct Line {
    const Pool* pool;
    Resources needs;
    bool is_elsewhere = false;  // by their node pool

    friend bool operator<(const Line& a, const Line& b) {
      return std::tie(a.pool, a.needs) < std::tie(b.pool, b.needs);
    }
  };

  void want(std::span<const NodeId> targets);
  [[nodiscard]] Error cycle(EdgeId id, NodeId node) const;
  // True where `id` waits for `other`, directly or not.
  [[nodiscard]] bool needs(EdgeId id, EdgeId other) const;
  void set(EdgeId id, EdgeState state);
  [[nodiscard]] Line line_of(EdgeId id) const;
  [[nodiscard]] bool has_room(const Line& line) const;
  // `count`: 1 for an edge that starts, -1 for one that ends.
  void occupy(const Line& line, int count);
  // Edges that wait for `id`; good until the next call.
  const std::vector<EdgeId>& dependents(EdgeId id);
  // Finds the weights of all wanted edges.
  void weigh();
  [[nodiscard]] float weight_of(EdgeId id) const;
  // Drops places whose edge is not in `state` any more; null where nothing is left.
  const Place* front(std::priority_queue<Place>& queue, EdgeState state) const;

  const Graph& graph_;
  Cost cost_;
  Resources capacity_;
  std::vector<EdgeState> states_;
  std::vector<int> missing_;                          // per edge: edges that it waits for
  std::map<EdgeId, std::vector<EdgeId>> late_users_;  // who waits for an edge by wait_for
  std::array<size_t, 8> counts_{};                    // per state
  std::priority_queue<Place> ready_;
  std::map<Line, std::priority_queue<Place>> queued_;
  std::map<const Pool*, int> running_;  // edges
  Resources in_use_;
  std::vector<float> weights_;  // per edge; none without costs
  std::vector<EdgeId> wanted_;  // in manifest order
  std::vector<EdgeId> dependents_;
  size_t total_ = 0;
};

}  // namespace evolve
