#include "k8s/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/core/json_read.h"

namespace evolve::k8s {

namespace {

using nlohmann::json;
using State = Finding::State;

constexpr const char* kTpuLabel = "cloud.google.com/gke-tpu-accelerator";
constexpr const char* kTopologyLabel = "cloud.google.com/gke-tpu-topology";
constexpr const char* kTpu = "google.com/tpu";

class Doctor {
 public:
  Doctor(Api& api, const Access& access) : api_(api), access_(access) {}

  std::vector<Finding> examine() {
    if (!look_at_server()) return out_;
    look_at_user();
    if (look_at_namespace()) {
      look_at_rights();
      look_at_quotas();
      look_at_queues();
    }
    look_at_nodes();
    return out_;
  }

 private:
  void add(State state, std::string subject, std::string words, std::string hint = "") {
    out_.push_back({state, std::move(subject), std::move(words), std::move(hint)});
  }

  // Returns a successful answer. Anything else becomes a notice.
  std::optional<json> ask(const std::string& subject, const std::string& path) {
    auto answer = api_.get(path);
    if (answer && answer->is_success()) return std::move(answer->body);
    add(State::notice, subject, "unknown: " + (answer ? answer->why() : answer.error().message));
    return std::nullopt;
  }

  bool look_at_server() {
    auto answer = api_.get("/version");
    if (!answer) {
      add(State::missing, "reachable", answer.error().message, answer.error().hint);
      return false;
    }
    if (!answer->is_success()) {
      add(State::missing, "reachable", access_.server + ": " + answer->why());
      return false;
    }
    add(State::good, "reachable",
        fmt::format("Kubernetes {} at {}", text_at(answer->body, "gitVersion"), access_.server));
    return true;
  }

  void look_at_user() {
    const json review = {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}};
    auto answer = api_.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", review);
    if (!answer || !answer->is_success()) {
      add(State::missing, "known", answer ? answer->why() : answer.error().message,
          answer ? "" : answer.error().hint);
      return;
    }
    const json user = member(member(answer->body, "status"), "userInfo");
    add(State::good, "known", fmt::format("as {}", text_at(user, "username")));
  }

  bool look_at_namespace() {
    auto answer = api_.get("/api/v1/namespaces/" + access_.space);
    if (answer && answer->status == kNotFound) {
      add(State::missing, "namespace", fmt::format("no namespace '{}'", access_.space),
          "kubectl create namespace " + access_.space);
      return false;
    }
    // Other failures do not count: a user may work in a namespace without the right to look at it.
    add(State::good, "namespace", access_.space);
    return true;
  }

  // Whether we have a right. Nullopt: the server does not say.
  std::optional<bool> has(const Right& right) {
    const std::string resource = right.resource;
    const size_t slash = std::min(resource.find('/'), resource.size());
    json attributes = {{"namespace", access_.space},
                       {"group", right.group},
                       {"resource", resource.substr(0, slash)},
                       {"verb", right.verb}};
    if (slash < resource.size()) attributes["subresource"] = resource.substr(slash + 1);
    auto answer = api_.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                              {{"apiVersion", "authorization.k8s.io/v1"},
                               {"kind", "SelfSubjectAccessReview"},
                               {"spec", {{"resourceAttributes", attributes}}}});
    if (!answer || !answer->is_success()) return std::nullopt;
    const json allowed = member(member(answer->body, "status"), "allowed");
    return allowed.is_boolean() && allowed.get<bool>();
  }

  void look_at_rights() {
    std::map<std::string, std::vector<std::string>> lacking;  // verbs by resource
    for (const Right& right : needed_rights()) {
      const auto allowed = has(right);
      if (!allowed) {
        add(State::notice, "permitted", "unknown: the server does not answer access reviews");
        return;
      }
      if (!*allowed) lacking[right.resource].emplace_back(right.verb);
    }
    if (lacking.empty()) {
      add(State::good, "permitted", fmt::format("all {} rights", needed_rights().size()));
      return;
    }
    std::vector<std::string> words;
    words.reserve(lacking.size());
    for (const auto& [resource, verbs] : lacking) {
      words.push_back(fmt::format("{} {}", fmt::join(verbs, ", "), resource));
    }
    add(State::missing, "permitted", "not permitted: " + fmt::format("{}", fmt::join(words, "; ")),
        fmt::format("an administrator can run kubectl apply -n {} -f k8s/rbac.yaml",
                    access_.space));
  }

  void look_at_quotas() {
    auto quotas = ask("quota", fmt::format("/api/v1/namespaces/{}/resourcequotas", access_.space));
    if (!quotas) return;
    for (const json& quota : list_at(*quotas, "items")) {
      const json hard = member(member(quota, "status"), "hard");
      const json used = member(member(quota, "status"), "used");
      std::vector<std::string> words;
      for (const auto& [resource, limit] : hard.items()) {
        words.push_back(fmt::format("{} of {} {}", text_at(used, resource),
                                    limit.is_string() ? limit.get<std::string>() : "?", resource));
      }
      add(State::notice, "quota",
          fmt::format("'{}': used: {}", text_at(member(quota, "metadata"), "name"),
                      fmt::join(words, ", ")));
    }
  }

  void look_at_queues() {
    auto group = api_.get("/apis/kueue.x-k8s.io");
    if (!group || !group->is_success()) {
      add(State::good, "queueing", "no Kueue: Jobs go directly to the scheduler");
      return;
    }
    const std::string version = text_at(member(group->body, "preferredVersion"), "version");
    auto queues = ask("queueing", fmt::format("/apis/kueue.x-k8s.io/{}/namespaces/{}/localqueues",
                                              version, access_.space));
    if (!queues) return;
    std::vector<std::string> names;
    for (const json& queue : list_at(*queues, "items")) {
      names.push_back(text_at(member(queue, "metadata"), "name"));
    }
    if (names.empty()) {
      add(State::missing, "queueing",
          fmt::format("Kueue is installed, but namespace '{}' has no LocalQueue", access_.space),
          "kubectl get localqueues -A");
    } else {
      add(State::good, "queueing", fmt::format("Kueue, queues {}", fmt::join(names, ", ")));
    }
  }

  struct NodeKind {
    int ready = 0, away = 0;
    int64_t chips = 0;  // of ready nodes
  };

  static bool is_usable(const json& node) {
    if (member(member(node, "spec"), "unschedulable") == true) return false;
    for (const json& condition : member(member(node, "status"), "conditions")) {
      if (text_at(condition, "type") == "Ready") return text_at(condition, "status") == "True";
    }
    return false;
  }

  void look_at_nodes() {
    auto nodes = ask("schedulable", "/api/v1/nodes");
    if (!nodes) return;
    std::map<std::string, NodeKind> kinds;
    NodeKind others;
    for (const json& node : list_at(*nodes, "items")) {
      const json labels = member(member(node, "metadata"), "labels");
      const std::string tpu = text_at(labels, kTpuLabel);
      const std::string name = fmt::format("{} {}", tpu, text_at(labels, kTopologyLabel));
      NodeKind& kind = tpu.empty() ? others : kinds[name];
      ++(is_usable(node) ? kind.ready : kind.away);
      const std::string chips = text_at(member(member(node, "status"), "allocatable"), kTpu);
      if (is_usable(node)) kind.chips += std::strtoll(chips.c_str(), nullptr, 10);
    }
    for (const auto& [name, kind] : kinds) {
      add(kind.ready > 0 ? State::good : State::missing, "schedulable",
          fmt::format("{}: {} of {} nodes ready, {} chips", name, kind.ready,
                      kind.ready + kind.away, kind.chips),
          kind.ready > 0 ? "" : "kubectl describe nodes -l " + std::string(kTpuLabel));
    }
    if (kinds.empty()) {
      add(State::notice, "schedulable",
          fmt::format("no node has the label {}: times are modelled, or measured on CPUs",
                      kTpuLabel));
    }
    if (others.ready + others.away > 0) {
      add(others.ready > 0 ? State::good : State::missing, "schedulable",
          fmt::format("without TPU: {} of {} nodes ready", others.ready,
                      others.ready + others.away));
    }
  }

  Api& api_;
  const Access& access_;
  std::vector<Finding> out_;
};

}  // namespace

const std::vector<Right>& needed_rights() {
  static const std::vector<Right> rights = {
      {"batch", "jobs", "create"},    {"batch", "jobs", "get"},     {"batch", "jobs", "list"},
      {"batch", "jobs", "watch"},     {"batch", "jobs", "delete"},  {"", "pods", "get"},
      {"", "pods", "list"},           {"", "pods", "watch"},        {"", "pods/log", "get"},
      {"", "configmaps", "create"},   {"", "configmaps", "get"},    {"", "configmaps", "list"},
      {"", "configmaps", "patch"},    {"", "configmaps", "delete"}, {"", "events", "list"},
      {"", "resourcequotas", "list"},
  };
  return rights;
}

std::vector<Finding> examine(Api& api, const Access& access) {
  return Doctor(api, access).examine();
}

}  // namespace evolve::k8s
