// `evolve cluster`: reports whether rounds can run in a Kubernetes cluster.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/app/elsewhere/cluster.h"
#include "engine/cli/commands.h"
#include "engine/cli/common_options.h"
#include "engine/core/json_text.h"
#include "engine/report/output.h"
#include "k8s/doctor.h"

namespace evolve::cli {

namespace {

using nlohmann::json;

const char* state_name(k8s::Finding::State state) {
  switch (state) {
    case k8s::Finding::State::good: return "good";
    case k8s::Finding::State::missing: return "missing";
    case k8s::Finding::State::notice: return "notice";
  }
  return "";
}

std::string text_of(const k8s::Access& access, const std::vector<k8s::Finding>& findings) {
  std::string out =
      fmt::format("cluster {}, namespace {}\n",
                  access.context.empty() ? "of this pod" : access.context, access.space);
  for (const k8s::Finding& one : findings) {
    out += fmt::format("  {:<8} {:<12} {}\n", state_name(one.state), one.subject, one.text);
    if (!one.hint.empty()) out += fmt::format("  {:<21} hint: {}\n", "", one.hint);
  }
  return out;
}

json json_of(const k8s::Access& access, const std::vector<k8s::Finding>& findings) {
  json list = json::array();
  for (const k8s::Finding& one : findings) {
    list.push_back({{"state", state_name(one.state)},
                    {"subject", one.subject},
                    {"text", one.text},
                    {"hint", one.hint}});
  }
  return {{"context", access.context},
          {"namespace", access.space},
          {"server", access.server},
          {"findings", list}};
}

// Prints what is reachable, permitted and schedulable in the cluster. Failed: something is missing.
Status run_cluster_doctor(const ClusterSettings& settings, const CommonOptions& common) {
  TRY_ASSIGN(auto cluster, Cluster::open(settings));
  const k8s::Access& access = cluster->access();
  const auto findings = k8s::examine(cluster->api(), access);
  print_out(common.json ? json_line(json_of(access, findings)) + "\n" : text_of(access, findings));
  const auto missing = std::count_if(findings.begin(), findings.end(), [](const auto& one) {
    return one.state == k8s::Finding::State::missing;
  });
  if (missing == 0) return {};
  return failed(fmt::format("cluster doctor: {} missing: rounds cannot run in this cluster",
                            missing == 1 ? "one thing is" : fmt::format("{} things are", missing)));
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
