#include "k8s/object_state.h"

#include <fmt/format.h>

#include <cstdlib>

#include "engine/core/json_read.h"

namespace evolve::k8s {

namespace {

using nlohmann::json;

// Reads a label. at_place() cannot do this, because the names of labels have slashes.
std::string label_of(const json& object, const char* name) {
  const json& labels = at_place(object, "/metadata/labels");
  return text_at(labels, name);
}

// Returns the first condition of that type with that status ("True", "False"); null: there is no
// such condition.
const json& condition(const json& object, const char* type, const char* status) {
  static const json null;
  for (const json& one : at_place(object, "/status/conditions")) {
    if (text_at_place(one, "/type") == type && text_at_place(one, "/status") == status) return one;
  }
  return null;
}

}  // namespace

JobState job_state(const json& job) {
  JobState out;
  out.name = text_at_place(job, "/metadata/name");
  out.uid = text_at_place(job, "/metadata/uid");
  out.owner = label_of(job, label::kOwner);
  out.session = label_of(job, label::kSession);
  out.is_leaving = !text_at_place(job, "/metadata/deletionTimestamp").empty();
  out.is_suspended = at_place(job, "/spec/suspend") == true;
  out.is_complete = !condition(job, "Complete", "True").is_null();
  if (const json& failed = condition(job, "Failed", "True"); !failed.is_null()) {
    out.is_failed = true;
    out.reason = text_at_place(failed, "/reason");
    out.message = text_at_place(failed, "/message");
  }
  return out;
}

PodState pod_state(const json& pod) {
  PodState out;
  out.name = text_at_place(pod, "/metadata/name");
  out.uid = text_at_place(pod, "/metadata/uid");
  out.job = label_of(pod, label::kJobName);
  out.phase = text_at_place(pod, "/status/phase");
  out.node = text_at_place(pod, "/spec/nodeName");
  if (const json& not_yet = condition(pod, "PodScheduled", "False"); !not_yet.is_null()) {
    out.unschedulable = text_at_place(not_yet, "/message");
  }
  if (const json& disrupted = condition(pod, "DisruptionTarget", "True"); !disrupted.is_null()) {
    out.disruption = text_at_place(disrupted, "/reason");
  }
  const std::string chips =
      text_at_place(pod, "/spec/containers/0/resources/limits/google.com~1tpu");
  out.chips = std::atoi(chips.c_str());
  const json& container = at_place(pod, "/status/containerStatuses/0/state");
  out.waiting_reason = text_at_place(container, "/waiting/reason");
  out.waiting_message = text_at_place(container, "/waiting/message");
  out.started = text_at_place(container, "/running/startedAt");
  if (const json& ended = at_place(container, "/terminated"); ended.is_object()) {
    out.exit_code =
        at_place(ended, "/exitCode").is_number() ? at_place(ended, "/exitCode").get<int>() : 0;
    out.end_reason = text_at_place(ended, "/reason");
    out.last_words = text_at_place(ended, "/message");
    out.started = text_at_place(ended, "/startedAt");
    out.finished = text_at_place(ended, "/finishedAt");
  }
  return out;
}

std::string trouble_of(const PodState& pod) {
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

bool may_pass(const PodState& pod) {
  if (!pod.disruption.empty()) return true;
  return pod.end_reason != "OOMKilled" && pod.exit_code != kBadOrders;
}

}  // namespace evolve::k8s
