// A build's nodes: from the pipeline's `cluster` to the runner that sends edges there, and what is
// told of it at the end.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cache/remote_store.h"
#include "engine/app/campaign.h"
#include "engine/app/elsewhere/cluster.h"
#include "engine/app/state.h"
#include "engine/graph/extensions.h"
#include "engine/world/claims.h"
#include "k8s/dispatcher.h"
#include "k8s/runner.h"

namespace evolve {

// By node pool.
nlohmann::json json_of(const std::map<std::string, NodeUse>& uses);

class Nodes {
 public:
  // Null: the campaign gives nothing to a cluster. Nothing is asked of it yet. `state` must outlive
  // it.
  static Result<std::unique_ptr<Nodes>> open(const Campaign& campaign, State& state);

  // Begins to watch, and from then on is a runner, which has `local` run all else.
  void start(Runner& local);
  // REQUIRES: start() was called.
  Runner& runner() { return *runner_; }
  // What there is for edges of its pools.
  [[nodiscard]] Resources places() const;
  [[nodiscard]] k8s::NodeState state();

  // After the runner's stop().
  [[nodiscard]] std::vector<std::string> warnings() const;
  [[nodiscard]] const std::map<std::string, NodeUse>& use() const { return dispatcher_.use(); }
  [[nodiscard]] nlohmann::json report() const;
  // "nodes: tpu 12 pods, 340 s, 1360 chip-seconds".
  [[nodiscard]] std::string text() const;

 private:
  Nodes(const Campaign& campaign, State& state, std::unique_ptr<Cluster> cluster,
        const cache::RemoteAddress& store, k8s::DispatcherSettings settings);
  // False: a process of this machine and state folder is at work under that name.
  bool is_dead(const std::string& session);

  std::unique_ptr<Cluster> cluster_;
  Clock& clock_;
  world::FileClaims sessions_, others_;  // one to hold ours, one to try those of others
  std::unique_ptr<Http> http_;           // the store's
  world::DiskFiles files_;
  cache::RemoteStore store_;
  std::map<std::string, k8s::NodePool> pools_;
  std::string space_;
  k8s::Dispatcher dispatcher_;
  std::unique_ptr<k8s::NodeRunner> runner_;
};

}  // namespace evolve
