#include "engine/build/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace evolve {

namespace {

// Sorts edges and removes repeated ones.
void remove_repeated(std::vector<EdgeId>& edges) {
  if (edges.size() < 2) return;
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
}

}  // namespace

BuildPlan::BuildPlan(const Graph& graph, std::span<const NodeId> targets, Cost cost,
                     Resources capacity)
    : graph_(graph),
      cost_(std::move(cost)),
      capacity_(std::move(capacity)),
      states_(graph.edge_count(), EdgeState::unwanted),
      missing_(graph.edge_count(), 0) {
  counts_[static_cast<size_t>(EdgeState::unwanted)] = graph.edge_count();
  want(targets);
}

void BuildPlan::want(std::span<const NodeId> targets) {
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
  std::vector<EdgeId> makers;
  if (cost_) weigh();
  for (; added != wanted_.end(); ++added) {
    const Edge& edge = graph_.edge(*added);
    if (!edge.is_phony()) ++total_;
    makers.clear();
    for (NodeId input : edge.inputs) {
      auto maker = graph_.node(input).made_by;
      if (maker && state(*maker) != EdgeState::done) makers.push_back(*maker);
    }
    remove_repeated(makers);
    missing_[index(*added)] = static_cast<int>(makers.size());
    if (makers.empty()) set(*added, EdgeState::ready);
    const bool is_hopeless =
        std::any_of(makers.begin(), makers.end(), [this](EdgeId id) { return has_failed(id); });
    if (is_hopeless) skip(*added);
  }
}

bool BuildPlan::needs(EdgeId id, EdgeId other) const {
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

Error BuildPlan::cycle(EdgeId id, NodeId node) const {
  const std::string& path = graph_.path(node);
  if (graph_.node(node).made_by == id)
    return bad_input(fmt::format("dependency cycle: {} -> {}", path, path));
  return bad_input(fmt::format("dependency cycle: {} -> {} -> {}", path,
                               graph_.path(graph_.edge(id).outputs.front()), path));
}

Status BuildPlan::learn_makers(std::span<const NodeId> nodes) {
  const std::set<NodeId> is_new(nodes.begin(), nodes.end());
  std::map<EdgeId, std::set<EdgeId>> users_of;
  for (NodeId node : nodes) {
    graph_.for_each_user(node, [&](EdgeId user) {
      const EdgeState now = state(user);
      if (now == EdgeState::wanted || now == EdgeState::ready || now == EdgeState::queued)
        users_of[*graph_.node(node).made_by].insert(user);
    });
  }
  for (const auto& [id, users] : users_of) {
    const EdgeId maker = id;  // a lambda cannot capture a structured binding
    want(graph_.edge(maker).outputs);
    if (state(maker) == EdgeState::done) continue;
    if (has_failed(maker)) {
      for (EdgeId user : users) skip(user);
      continue;
    }
    for (EdgeId user : users) {
      if (user == maker || needs(maker, user)) return cycle(user, graph_.edge(maker).outputs[0]);
      // A user waits for an edge once, even if it uses several outputs of that edge.
      auto inputs = graph_.edge(user).inputs;
      const auto late = late_users_.find(maker);
      const bool waits =
          std::any_of(inputs.begin(), inputs.end(),
                      [&](NodeId input) {
                        return graph_.node(input).made_by == maker && !is_new.contains(input);
                      }) ||
          (late != late_users_.end() &&
           std::find(late->second.begin(), late->second.end(), user) != late->second.end());
      if (waits) continue;
      ++missing_[index(user)];
      if (state(user) != EdgeState::wanted) set(user, EdgeState::wanted);
    }
  }
  return {};
}

Result<bool> BuildPlan::wait_for(EdgeId id, std::span<const NodeId> nodes) {
  want(nodes);
  std::vector<EdgeId> makers;
  for (NodeId node : nodes) {
    auto maker = graph_.node(node).made_by;
    if (!maker || state(*maker) == EdgeState::done) continue;
    if (*maker == id || needs(*maker, id)) return cycle(id, node);
    makers.push_back(*maker);
  }
  if (std::any_of(makers.begin(), makers.end(), [this](EdgeId one) { return has_failed(one); })) {
    skip(id);
    return true;
  }
  int waits = 0;
  for (EdgeId maker : makers) {
    std::vector<EdgeId>& users = late_users_[maker];
    if (std::find(users.begin(), users.end(), id) != users.end()) continue;
    users.push_back(id);
    ++waits;
  }
  if (waits == 0) return false;
  missing_[index(id)] = waits;
  set(id, EdgeState::wanted);
  return true;
}

void BuildPlan::set(EdgeId id, EdgeState state) {
  EdgeState& current = states_[index(id)];
  --counts_[static_cast<size_t>(current)];
  ++counts_[static_cast<size_t>(state)];
  if (current == EdgeState::running) occupy(line_of(id), -1);
  current = state;
  if (state == EdgeState::ready) ready_.push({weight_of(id), id});
  if (state == EdgeState::running) occupy(line_of(id), 1);
  if (state == EdgeState::queued) queued_[line_of(id)].push({weight_of(id), id});
}

BuildPlan::Line BuildPlan::line_of(EdgeId id) const {
  Placement placement = placement_of(graph_.extensions(id), capacity_);
  return {graph_.edge(id).pool, std::move(placement.needs), placement.is_elsewhere};
}

bool BuildPlan::has_room(const Line& line) const {
  if (line.pool->depth > 0) {
    auto running = running_.find(line.pool);
    if (running != running_.end() && running->second >= line.pool->depth) return false;
  }
  return std::all_of(line.needs.begin(), line.needs.end(), [&](const auto& need) {
    const auto& [name, amount] = need;
    auto used = in_use_.find(name);
    if (used == in_use_.end()) return true;
    auto capacity = capacity_.find(name);
    if (capacity != capacity_.end()) return used->second.amount + amount <= capacity->second;
    return name == "memory";
  });
}

void BuildPlan::occupy(const Line& line, int count) {
  running_[line.pool] += count;
  for (const auto& [name, amount] : line.needs) {
    InUse& use = in_use_[name];
    use.amount += count * amount;
    use.edges += count;
    // After sums of fractions the amount may not be exactly 0.
    if (use.edges == 0) in_use_.erase(name);
  }
}

float BuildPlan::weight_of(EdgeId id) const {
  return weights_.empty() ? 0 : weights_[index(id)];
}

void BuildPlan::weigh() {
  // An edge of unknown cost gets the mean of the known costs.
  std::vector<std::optional<double>> costs(graph_.edge_count());
  double sum = 0;
  size_t known = 0;
  for (EdgeId id : wanted_) {
    if (graph_.edge(id).is_phony()) {
      costs[index(id)] = 0;
    } else {
      costs[index(id)] = cost_(id);
      if (costs[index(id)]) sum += *costs[index(id)], ++known;
    }
  }
  const double usual = known > 0 ? sum / static_cast<double>(known) : 1;
  auto cost_of = [&](EdgeId id) { return static_cast<float>(costs[index(id)].value_or(usual)); };

  // Goes backwards from the ends: an edge's weight is final when the weights of all its wanted
  // users are final.
  std::vector<int> users(graph_.edge_count());
  auto for_each_maker = [&](EdgeId id, auto visit) {
    for (NodeId input : graph_.edge(id).inputs) {
      auto maker = graph_.node(input).made_by;
      if (maker && state(*maker) != EdgeState::unwanted) visit(*maker);
    }
  };
  for (EdgeId id : wanted_) for_each_maker(id, [&](EdgeId maker) { ++users[index(maker)]; });
  weights_.assign(graph_.edge_count(), 0);
  std::vector<EdgeId> open;
  for (EdgeId id : wanted_) {
    weights_[index(id)] = cost_of(id);
    if (users[index(id)] == 0) open.push_back(id);
  }
  while (!open.empty()) {
    const EdgeId id = open.back();
    open.pop_back();
    for_each_maker(id, [&](EdgeId maker) {
      float& weight = weights_[index(maker)];
      weight = std::max(weight, weights_[index(id)] + cost_of(maker));
      if (--users[index(maker)] == 0) open.push_back(maker);
    });
  }
}

const BuildPlan::Place* BuildPlan::front(std::priority_queue<Place>& queue, EdgeState state) const {
  while (!queue.empty() && states_[index(queue.top().edge)] != state) queue.pop();
  return queue.empty() ? nullptr : &queue.top();
}

std::optional<EdgeId> BuildPlan::next_ready() {
  const Place* first = front(ready_, EdgeState::ready);
  if (first == nullptr) return std::nullopt;
  return first->edge;
}

std::vector<EdgeId> BuildPlan::all_ready() const {
  std::vector<EdgeId> out;
  if (count(EdgeState::ready) == 0) return out;
  std::copy_if(wanted_.begin(), wanted_.end(), std::back_inserter(out),
               [this](EdgeId id) { return state(id) == EdgeState::ready; });
  return out;
}

std::optional<EdgeId> BuildPlan::next_queued(Where where) {
  const Place* best = nullptr;
  for (auto& [line, queue] : queued_) {
    if (where == Where::elsewhere && !line.is_elsewhere) continue;
    if (!has_room(line)) continue;
    const Place* first = front(queue, EdgeState::queued);
    if (first != nullptr && (best == nullptr || *best < *first)) best = first;
  }
  if (best == nullptr) return std::nullopt;
  return best->edge;
}

const std::vector<EdgeId>& BuildPlan::dependents(EdgeId id) {
  dependents_.clear();
  for (NodeId output : graph_.edge(id).outputs) {
    graph_.for_each_user(output, [&](EdgeId user) {
      if (state(user) == EdgeState::wanted) dependents_.push_back(user);
    });
  }
  if (auto late = late_users_.find(id); late != late_users_.end()) {
    for (EdgeId user : late->second) {
      if (state(user) == EdgeState::wanted) dependents_.push_back(user);
    }
  }
  remove_repeated(dependents_);
  return dependents_;
}

void BuildPlan::finish(EdgeId id) {
  set(id, EdgeState::done);
  for (EdgeId user : dependents(id)) {
    if (--missing_[index(user)] == 0) set(user, EdgeState::ready);
  }
}

void BuildPlan::skip(EdgeId id) {
  std::vector<EdgeId> open = {id};
  while (!open.empty()) {
    EdgeId edge = open.back();
    open.pop_back();
    const EdgeState now = state(edge);
    if (now != EdgeState::wanted && now != EdgeState::ready && now != EdgeState::queued) continue;
    set(edge, EdgeState::skipped);
    const std::vector<EdgeId>& users = dependents(edge);
    open.insert(open.end(), users.begin(), users.end());
  }
}

void BuildPlan::fail(EdgeId id) {
  set(id, EdgeState::failed);
  const std::vector<EdgeId> users = dependents(id);
  for (EdgeId user : users) skip(user);
}

}  // namespace evolve
