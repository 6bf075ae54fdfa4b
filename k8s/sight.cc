#include "k8s/sight.h"

#include <fmt/format.h>

#include <cstdlib>

#include "k8s/fields.h"

namespace evolve::k8s {

namespace {

using nlohmann::json;

// Reads a label. Labels have slashes in their names, so their names are no places for field().
std::string label_of(const json& object, const char* name) {
  const json& labels = field(object, "/metadata/labels");
  return labels.is_object() && labels.contains(name) ? text_field(labels[name], "") : "";
}

// Returns the first condition of that type with that status ("True", "False"); null: there is no
// such condition.
const json& condition(const json& object, const char* type, const char* status) {
  static const json null;
  for (const json& one : field(object, "/status/conditions")) {
    if (text_field(one, "/type") == type && text_field(one, "/status") == status) return one;
  }
  return null;
}

}  // namespace

JobSight job_sight(const json& job) {
  JobSight out;
  out.name = text_field(job, "/metadata/name");
  out.uid = text_field(job, "/metadata/uid");
  out.owner = label_of(job, label::kOwner);
  out.session = label_of(job, label::kSession);
  out.is_leaving = !text_field(job, "/metadata/deletionTimestamp").empty();
  out.is_suspended = field(job, "/spec/suspend") == true;
  out.is_complete = !condition(job, "Complete", "True").is_null();
  if (const json& failed = condition(job, "Failed", "True"); !failed.is_null()) {
    out.is_failed = true;
    out.reason = text_field(failed, "/reason");
    out.message = text_field(failed, "/message");
  }
  return out;
}

PodSight pod_sight(const json& pod) {
  PodSight out;
  out.name = text_field(pod, "/metadata/name");
  out.uid = text_field(pod, "/metadata/uid");
  out.job = label_of(pod, label::kJobName);
  out.phase = text_field(pod, "/status/phase");
  out.node = text_field(pod, "/spec/nodeName");
  if (const json& not_yet = condition(pod, "PodScheduled", "False"); !not_yet.is_null()) {
    out.unschedulable = text_field(not_yet, "/message");
  }
  if (const json& disrupted = condition(pod, "DisruptionTarget", "True"); !disrupted.is_null()) {
    out.disruption = text_field(disrupted, "/reason");
  }
  const std::string chips = text_field(pod, "/spec/containers/0/resources/limits/google.com~1tpu");
  out.chips = std::atoi(chips.c_str());
  const json& container = field(pod, "/status/containerStatuses/0/state");
  out.waiting_reason = text_field(container, "/waiting/reason");
  out.waiting_message = text_field(container, "/waiting/message");
  out.started = text_field(container, "/running/startedAt");
  if (const json& ended = field(container, "/terminated"); ended.is_object()) {
    out.exit_code =
        field(ended, "/exitCode").is_number() ? field(ended, "/exitCode").get<int>() : 0;
    out.end_reason = text_field(ended, "/reason");
    out.last_words = text_field(ended, "/message");
    out.started = text_field(ended, "/startedAt");
    out.finished = text_field(ended, "/finishedAt");
  }
  return out;
}

std::string trouble_of(const PodSight& pod) {
  if (!pod.disruption.empty()) return fmt::format("stopped from outside: {}", pod.disruption);
  if (pod.phase == "Failed") {
    if (pod.end_reason == "OOMKilled") return "the container needed more memory than its limit";
    return fmt::format("the container exited with {}{}", pod.exit_code,
                       pod.end_reason.empty() || pod.end_reason == "Error"
                           ? ""
                           : fmt::format(" ({})", pod.end_reason));
  }
  if (!pod.unschedulable.empty()) return "waiting for a node: " + pod.unschedulable;
  if (pod.waiting_reason == "ErrImagePull" || pod.waiting_reason == "ImagePullBackOff" ||
      pod.waiting_reason == "InvalidImageName" || pod.waiting_reason.ends_with("Error")) {
    return fmt::format("{}: {}", pod.waiting_reason, pod.waiting_message);
  }
  return {};
}

bool may_pass(const PodSight& pod) {
  if (!pod.disruption.empty()) return true;
  return pod.end_reason != "OOMKilled" && pod.exit_code != kBadOrders;
}

}  // namespace evolve::k8s
