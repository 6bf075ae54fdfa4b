// The connection to a cluster.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "engine/world/http.h"
#include "k8s/api.h"
#include "k8s/kubeconfig.h"

namespace evolve {

struct ClusterSettings {
  std::string kubeconfig;  // empty: $KUBECONFIG, or else ~/.kube/config, or else the pod's own
  std::string context;     // empty: the current one
  std::string space;       // the namespace; empty: the context's
};

class Cluster {
 public:
  // Reads who we are; a plugin is run for it. The server is not asked for anything yet.
  static Result<std::unique_ptr<Cluster>> open(const ClusterSettings& settings);

  [[nodiscard]] const k8s::Access& access() const { return access_; }
  k8s::Api& api() { return api_; }
  // For streams: stop_watching() ends what it is at.
  k8s::Api& watching() { return watching_; }
  void stop_watching() { watching_http_.stop(); }

 private:
  Cluster(k8s::Access access, const world::HttpOptions& options);
  k8s::ApiSurroundings surroundings();
  Result<std::string> token(bool is_refused);

  k8s::Access access_;
  std::mutex mutex_;  // of its token
  world::CurlHttp http_, watching_http_;
  k8s::Api api_, watching_;
};

}  // namespace evolve
