// The pods of a build: everything from the pipeline's `cluster` to the runner that sends edges
// there, and the report on the pods' use at the end.
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

// Returns the use of each pod pool as JSON.
nlohmann::json json_of(const std::map<std::string, PoolUse>& uses);

class BuildPods {
 public:
  // Returns the pods of a campaign; null: the campaign sends no edges to a cluster. Sends nothing
  // to the cluster yet. `state` must outlive the pods.
  static Result<std::unique_ptr<BuildPods>> open(const Campaign& campaign, State& state);

  // Begins to watch the cluster, and makes the runner. The runner lets `local` run the edges that
  // are not for the cluster.
  void start(Runner& local);
  // REQUIRES: start() was called.
  Runner& runner() { return *runner_; }
  // Returns how many edges each pool may have at a time.
  [[nodiscard]] Resources places() const;
  [[nodiscard]] k8s::ClusterState state();

  // The warnings and the use are complete only after the runner's stop().
  [[nodiscard]] std::vector<std::string> warnings() const;
  [[nodiscard]] const std::map<std::string, PoolUse>& use() const { return dispatcher_.use(); }
  [[nodiscard]] nlohmann::json report() const;
  // Returns a text such as "nodes: tpu 12 pods, 340 s, 1360 chip-seconds".
  [[nodiscard]] std::string text() const;

 private:
  BuildPods(const Campaign& campaign, State& state, std::unique_ptr<Cluster> cluster,
            const cache::RemoteAddress& store, k8s::DispatcherSettings settings);
  // Whether the process of a session has ended, if the session is of this machine and state folder.
  // False: the process runs, or its end cannot be proved.
  bool is_dead(const std::string& session);

  std::unique_ptr<Cluster> cluster_;
  Clock& clock_;
  world::FileClaims sessions_, others_;  // to hold our session, and to try those of others
  std::unique_ptr<Http> http_;           // of the store
  world::DiskFiles files_;
  cache::RemoteStore store_;
  std::map<std::string, k8s::PodPool> pools_;
  std::string space_;
  k8s::Dispatcher dispatcher_;
  std::unique_ptr<k8s::PodRunner> runner_;
};

}  // namespace evolve
