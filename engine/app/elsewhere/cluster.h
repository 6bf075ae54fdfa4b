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
  std::string context;     // empty: the current context
  std::string space;       // the namespace; empty: the context's
};

class Cluster {
 public:
  // Reads our credentials, and runs a credential plugin if the kubeconfig names one. Sends nothing
  // to the server yet.
  static Result<std::unique_ptr<Cluster>> open(const ClusterSettings& settings);

  [[nodiscard]] const k8s::Access& access() const { return access_; }
  k8s::Api& api() { return api_; }
  // The API for streams. stop_watching() ends the stream that this API reads.
  k8s::Api& watching() { return watching_; }
  void stop_watching() { watching_http_.stop(); }

 private:
  Cluster(k8s::Access access, const world::HttpOptions& options);
  k8s::ApiConnection connection();
  Result<std::string> token(bool is_refused);

  k8s::Access access_;
  std::mutex mutex_;  // guards the token of `access_`
  world::CurlHttp http_, watching_http_;
  k8s::Api api_, watching_;
};

}  // namespace evolve
