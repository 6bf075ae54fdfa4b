#include "engine/core/plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace evolve {

Plan::Plan(const Graph& graph, std::span<const NodeId> targets)
    : graph_(graph),
      states_(graph.edge_count(), EdgeState::unwanted),
      missing_(graph.edge_count(), 0) {
  counts_[static_cast<size_t>(EdgeState::unwanted)] = graph.edge_count();
  want(targets);
}

void Plan::want(std::span<const NodeId> targets) {
  const size_t known = wanted_.size();
  std::vector<NodeId> open(targets.begin(), targets.end());
  while (!open.empty()) {
    auto maker = graph_.node(open.back()).made_by;
    open.pop_back();
    if (!maker || state(*maker) != EdgeState::unwanted) continue;
    set(*maker, EdgeState::wanted);
    wanted_.push_back(*maker);
    const Edge& edge = graph_.edge(*maker);
    open.insert(open.end(), edge.inputs.begin(), edge.inputs.end());
    open.insert(open.end(), edge.validations.begin(), edge.validations.end());
  }
  auto added = wanted_.begin() + static_cast<long>(known);
  std::sort(added, wanted_.end());
  for (; added != wanted_.end(); ++added) {
    const Edge& edge = graph_.edge(*added);
    if (!edge.is_phony()) ++total_;
    std::set<EdgeId> makers;
    for (NodeId input : edge.inputs) {
      auto maker = graph_.node(input).made_by;
      if (maker && state(*maker) != EdgeState::done) makers.insert(*maker);
    }
    missing_[index(*added)] = static_cast<int>(makers.size());
    if (makers.empty()) set(*added, EdgeState::ready);
  }
}

bool Plan::needs(EdgeId id, EdgeId other) const {
  std::set<EdgeId> seen = {id};
  std::vector<EdgeId> open = {id};
  while (!open.empty()) {
    EdgeId next = open.back();
    open.pop_back();
    if (next == other) return true;
    auto visit = [&](EdgeId maker) {
      if (state(maker) == EdgeState::wanted && seen.insert(maker).second) open.push_back(maker);
    };
    for (NodeId input : graph_.edge(next).inputs) {
      auto maker = graph_.node(input).made_by;
      if (maker && *maker == other) return true;
      if (maker) visit(*maker);
    }
    for (const auto& [maker, users] : late_users_) {
      if (std::find(users.begin(), users.end(), next) == users.end()) continue;
      if (maker == other) return true;
      visit(maker);
    }
  }
  return false;
}

Result<bool> Plan::wait_for(EdgeId id, std::span<const NodeId> nodes) {
  want(nodes);
  int waits = 0;
  for (NodeId node : nodes) {
    auto maker = graph_.node(node).made_by;
    if (!maker || state(*maker) == EdgeState::done) continue;
    if (*maker == id || needs(*maker, id)) {
      return bad_input(fmt::format("dependency cycle: {} -> {} -> {}", graph_.path(node),
                                   graph_.path(graph_.edge(id).outputs.front()),
                                   graph_.path(node)));
    }
    std::vector<EdgeId>& users = late_users_[*maker];
    if (std::find(users.begin(), users.end(), id) != users.end()) continue;
    users.push_back(id);
    ++waits;
  }
  if (waits == 0) return false;
  missing_[index(id)] = waits;
  set(id, EdgeState::wanted);
  return true;
}

void Plan::set(EdgeId id, EdgeState state) {
  EdgeState& current = states_[index(id)];
  --counts_[static_cast<size_t>(current)];
  ++counts_[static_cast<size_t>(state)];
  if (current == EdgeState::ready) ready_.erase(id);
  if (current == EdgeState::queued) queued_.erase(id);
  if (current == EdgeState::running) --in_pool_[graph_.edge(id).pool];
  if (state == EdgeState::ready) ready_.insert(id);
  if (state == EdgeState::queued) queued_.insert(id);
  if (state == EdgeState::running) ++in_pool_[graph_.edge(id).pool];
  current = state;
}

std::optional<EdgeId> Plan::next_ready() const {
  if (ready_.empty()) return std::nullopt;
  return *ready_.begin();
}

std::optional<EdgeId> Plan::next_queued() const {
  for (EdgeId id : queued_) {
    const Pool* pool = graph_.edge(id).pool;
    auto in_pool = in_pool_.find(pool);
    bool has_room = pool->depth == 0 || in_pool == in_pool_.end() || in_pool->second < pool->depth;
    if (has_room) return id;
  }
  return std::nullopt;
}

std::vector<EdgeId> Plan::dependents(EdgeId id) const {
  std::set<EdgeId> out;
  for (NodeId output : graph_.edge(id).outputs) {
    graph_.for_each_user(output, [&](EdgeId user) {
      if (state(user) == EdgeState::wanted) out.insert(user);
    });
  }
  if (auto late = late_users_.find(id); late != late_users_.end()) {
    for (EdgeId user : late->second) {
      if (state(user) == EdgeState::wanted) out.insert(user);
    }
  }
  return {out.begin(), out.end()};
}

void Plan::finish(EdgeId id) {
  set(id, EdgeState::done);
  for (EdgeId user : dependents(id)) {
    if (--missing_[index(user)] == 0) set(user, EdgeState::ready);
  }
}

void Plan::fail(EdgeId id) {
  set(id, EdgeState::failed);
  std::vector<EdgeId> open = dependents(id);
  while (!open.empty()) {
    EdgeId user = open.back();
    open.pop_back();
    if (state(user) != EdgeState::wanted) continue;
    set(user, EdgeState::skipped);
    auto further = dependents(user);
    open.insert(open.end(), further.begin(), further.end());
  }
}

bool Plan::is_finished() const {
  return ready_.empty() && queued_.empty() && count(EdgeState::running) == 0;
}

}  // namespace evolve
