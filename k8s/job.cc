#include "k8s/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/core/crypto/sha256.h"
#include "engine/core/yaml/yaml_json.h"
#include "k8s/object_state.h"

namespace evolve::k8s {

namespace {

using nlohmann::json;

constexpr size_t kNameDigits = 40;
constexpr size_t kMostLabel = 63;
// The seconds of a Job's deadline for pulling an image and waiting for a device.
constexpr int kStartSeconds = 300;
constexpr const char* kOrders = "evolve-orders";
constexpr const char* kOrdersFolder = "/etc/evolve/orders";
constexpr const char* kAgent = "/opt/evolve/bin/evolve";
constexpr const char* kLastWords = "/dev/termination-log";

// Reads a scalar as YAML's core schema does.
json scalar_of(const YamlNode& node) {
  if (node.is_quoted) return node.text;
  if (node.text == "true") return true;
  if (node.text == "false") return false;
  if (node.text == "null" || node.text == "~") return nullptr;
  const bool is_plain_number =
      !node.text.empty() && node.text.find_first_not_of("0123456789-") == std::string::npos;
  if (is_plain_number) {
    if (auto number = parse_whole(node.text)) return *number;
  }
  return node.text;
}

// Replaces known variables. Other variables stay, such as those of a shell in the template's own
// command.
std::string substituted(std::string text, const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables) {
    const std::string mark = "${" + name + "}";
    for (size_t at = text.find(mark); at != std::string::npos;
         at = text.find(mark, at + value.size())) {
      text.replace(at, mark.size(), value);
    }
  }
  return text;
}

Error no_job(const JobSettings& settings, const std::string& why) {
  return bad_input(fmt::format("{}: {}", settings.template_path, why), "",
                   "k8s/tpu-job.yaml is an example of a template");
}

// Returns a volume with the ConfigMaps of the orders. For each order, it has the files ORDER.json
// and ORDER.job, which names the order's Job.
json orders_volume(const std::vector<std::string>& orders) {
  json sources = json::array();
  for (const std::string& order : orders) {
    sources.push_back({{"configMap",
                        {{"name", claim_name(order)},
                         {"items",
                          {{{"key", "order"}, {"path", order + ".json"}},
                           {{"key", "job"}, {"path", order + ".job"}}}}}}});
  }
  return {{"sources", sources}};
}

// Puts the orders where the template has its payload, or in a volume of their own. Returns the
// folder.
std::string mount_orders(json& pod, json& container, const std::string& payload,
                         const std::vector<std::string>& orders) {
  std::string volume;
  if (!pod["volumes"].is_array()) pod["volumes"] = json::array();
  for (json& one : pod["volumes"]) {
    if (one.value("configMap", json::object()).value("name", "") != payload) continue;
    volume = one.value("name", "");
    one.erase("configMap");
    one["projected"] = orders_volume(orders);
  }
  if (container.contains("env") && container["env"].is_array()) {
    json kept = json::array();
    for (const json& one : container["env"]) {
      const json from = one.value("valueFrom", json::object()).value("configMapKeyRef", json());
      if (!from.is_object() || from.value("name", "") != payload) kept.push_back(one);
    }
    container["env"] = kept;
  }
  if (!container["volumeMounts"].is_array()) container["volumeMounts"] = json::array();
  for (const json& mount : container["volumeMounts"]) {
    if (!volume.empty() && mount.value("name", "") == volume) return mount.value("mountPath", "");
  }
  if (volume.empty()) {
    volume = kOrders;
    pod["volumes"].push_back({{"name", volume}, {"projected", orders_volume(orders)}});
  }
  container["volumeMounts"].push_back(
      {{"name", volume}, {"mountPath", kOrdersFolder}, {"readOnly", true}});
  return kOrdersFolder;
}

void set_agent(json& container, const JobSettings& settings, const std::string& name,
               const std::string& folder) {
  if (!settings.image.empty()) container["image"] = settings.image;
  const std::string last_words = container.value("terminationMessagePath", kLastWords);
  container["command"] = {kAgent, "agent"};
  container["args"] = {
      "--orders",     folder,      "--job",    name,     "--store",
      settings.store, "--message", last_words, "--jobs", std::to_string(settings.at_once)};
  if (!container.contains("env")) container["env"] = json::array();
  container["env"].push_back(
      {{"name", "EVOLVE_NODE"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "spec.nodeName"}}}}}});
}

// Returns the policy for failed pods. A disruption costs no attempt, because it is nobody's fault.
// Bad orders fail the Job, because another try would not help.
json failure_policy() {
  return {
      {"rules",
       {{{"action", "Ignore"}, {"onPodConditions", {{{"type", "DisruptionTarget"}}}}},
        {{"action", "FailJob"}, {"onExitCodes", {{"operator", "In"}, {"values", {kBadOrders}}}}}}}};
}

// Makes the Job. Throws nlohmann's exceptions if something in the template has the wrong type.
Result<json> job_of(const YamlSource& source, const JobSettings& settings, const std::string& name,
                    const std::vector<std::string>& orders, const Labels& labels, int deadline) {
  json job = yaml_json<json>(source.root(), scalar_of);
  if (!job.is_object() || job.value("kind", json()) != "Job") {
    return no_job(settings, "is not a template of a Job");
  }
  json& metadata = job["metadata"];
  metadata["name"] = name;
  metadata["namespace"] = settings.space;
  json& spec = job["spec"];
  json& pod = spec["template"]["spec"];
  if (!pod["containers"].is_array() || pod["containers"].empty()) {
    return no_job(settings, "spec.template.spec.containers is missing");
  }
  for (const auto& [label, value] : labels) {
    metadata["labels"][label] = value;
    spec["template"]["metadata"]["labels"][label] = value;
  }
  pod["restartPolicy"] = "Never";
  json& container = pod["containers"][0];
  set_agent(container, settings, name, mount_orders(pod, container, name + "-payload", orders));
  if (!spec.contains("podFailurePolicy")) spec["podFailurePolicy"] = failure_policy();
  if (!spec.contains("activeDeadlineSeconds")) spec["activeDeadlineSeconds"] = deadline;
  if (!settings.priority_class.empty()) pod["priorityClassName"] = settings.priority_class;
  if (!settings.queue.empty()) {
    metadata["labels"]["kueue.x-k8s.io/queue-name"] = settings.queue;
    spec["suspend"] = true;
  }
  return job;
}

}  // namespace

std::string job_name(const std::vector<std::string>& orders, int attempt) {
  const std::string digest =
      orders.size() == 1 ? orders.front() : sha256(fmt::format("{}", fmt::join(orders, " ")));
  const std::string name = "evolve-" + digest.substr(0, kNameDigits);
  return attempt == 0 ? name : fmt::format("{}-{}", name, attempt);
}

std::string claim_name(const std::string& order) {
  return "evolve-" + order.substr(0, kNameDigits);
}

std::string label_value(const std::string& text) {
  std::string out;
  for (char c : text) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
    out += is_plain ? c : '-';
  }
  out = out.substr(0, kMostLabel);
  auto is_edge = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; };
  while (!out.empty() && is_edge(out.back())) out.pop_back();
  while (!out.empty() && is_edge(out.front())) out.erase(0, 1);
  return out;
}

Result<json> make_job(const JobSettings& settings, const std::string& name,
                      const std::vector<std::string>& orders, const Labels& labels) {
  const auto count = static_cast<int>(orders.size());
  const int deadline = kStartSeconds + settings.order_seconds * count;
  const auto key = labels.find(label::kKey);
  const std::string text =
      substituted(settings.template_text, {{"JOB_NAME", name},
                                           {"BRANCH", settings.branch},
                                           {"REPO", settings.repo},
                                           {"VARIANT_ID", key == labels.end() ? name : key->second},
                                           {"ACTIVE_DEADLINE", std::to_string(deadline)}});
  TRY_ASSIGN(auto source, YamlSource::parse(text, settings.template_path));
  try {
    return job_of(source, settings, name, orders, labels, deadline);
  } catch (const json::exception&) {
    return no_job(settings, "is not a template of a Job");
  }
}

json make_claim(const std::string& order, const std::string& text, const std::string& job,
                const std::string& space, const Labels& labels) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", claim_name(order)}, {"namespace", space}, {"labels", labels}}},
          {"data", {{"order", text}, {"job", job}}}};
}

}  // namespace evolve::k8s
