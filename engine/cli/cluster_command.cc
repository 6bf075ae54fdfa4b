// `evolve cluster`: reports whether rounds can run in a Kubernetes cluster.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "engine/app/elsewhere/cluster.h"
#include "engine/cli/commands.h"
#include "engine/cli/common_options.h"
#include "engine/report/findings_text.h"
#include "k8s/doctor.h"

namespace evolve::cli {

namespace {

using nlohmann::json;

// Prints what is reachable, permitted and schedulable in the cluster. Failed: something is missing.
Status run_cluster_doctor(const ClusterSettings& settings, const CommonOptions& common) {
  TRY_ASSIGN(auto cluster, Cluster::open(settings));
  const k8s::Access& access = cluster->access();
  const auto findings = k8s::examine(cluster->api(), access);
  print_result(common,
               json{{"context", access.context},
                    {"namespace", access.space},
                    {"server", access.server},
                    {"findings", findings_json(findings)}},
               fmt::format("cluster {}, namespace {}\n",
                           access.context.empty() ? "of this pod" : access.context, access.space) +
                   findings_text(findings));
  return findings_status(findings, "cluster doctor", "rounds cannot run in this cluster");
}

}  // namespace

void add_cluster(Commands& commands) {
  auto cluster = commands.add("cluster", "check a Kubernetes cluster: doctor");
  cluster.require_command();
  auto doctor = cluster.add_command(
      "doctor",
      "report what is reachable, permitted and schedulable in the cluster, and what is missing");
  auto settings = std::make_shared<ClusterSettings>();
  doctor.add("--kubeconfig", settings->kubeconfig,
             "the kubeconfig file (default: $KUBECONFIG, or ~/.kube/config, or the pod's own)");
  doctor.add("--context", settings->context,
             "the kubeconfig's context (default: its current context)");
  doctor.add("-n,--namespace", settings->space, "the namespace (default: the context's)");
  commands.add_json(doctor);
  commands.on(doctor, [settings](const CommonOptions& common) {
    return run_cluster_doctor(*settings, common);
  });
}

}  // namespace evolve::cli
