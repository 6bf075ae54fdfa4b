// The states of Jobs and their pods: the few facts in the API's objects that matter here. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace evolve::k8s {

struct JobState {
  std::string name, uid;
  std::string session;  // the process that made it (label::kSession)
  std::string owner;    // machine and state folder (label::kOwner)
  bool is_complete = false;
  bool is_failed = false;
  bool is_suspended = false;    // it waits in a queue
  bool is_leaving = false;      // it is being deleted
  std::string reason, message;  // why it failed: "DeadlineExceeded"
};

struct PodState {
  std::string name, uid, job;
  std::string phase;          // "Pending", "Running", "Succeeded", "Failed"
  std::string node;           // empty: none yet
  std::string unschedulable;  // the scheduler's words; empty: scheduled, or not tried yet
  std::string waiting_reason, waiting_message;  // of the container: "ErrImagePull"
  // The next three members are set once the pod has ended.
  int exit_code = 0;
  std::string end_reason;  // "Completed", "Error", "OOMKilled"
  std::string last_words;  // its termination message
  std::string
      disruption;  // why it was ended from outside: "PreemptionByScheduler"; empty: it was not
  std::string started, finished;  // ISO 8601
  int chips = 0;                  // TPU chips that the pod holds

  [[nodiscard]] bool has_ended() const { return phase == "Succeeded" || phase == "Failed"; }
};

JobState job_state(const nlohmann::json& job);
PodState pod_state(const nlohmann::json& pod);

// Returns why a pod does not run, or ended badly, in words for one line; empty: no trouble.
std::string trouble_of(const PodState& pod);

// Returns whether another try may succeed after a pod's failure. It may after a disruption or a
// fault of the node, but a container that needs more memory than its limit, or that rejected its
// orders, would fail again.
bool may_pass(const PodState& pod);

// The agent's exit code if its orders cannot be used (k8s/agent/agent.h).
inline constexpr int kBadOrders = 2;
// The beginning of the line in the agent's last words that says why it failed.
inline constexpr std::string_view kAgentError = "error: ";

// Our labels on Jobs, pods and ConfigMaps.
namespace label {
inline constexpr const char* kManagedBy = "app.kubernetes.io/managed-by";
inline constexpr const char* kEvolve = "evolve";
inline constexpr const char* kOwner = "evolve/owner";      // digest of machine and state folder
inline constexpr const char* kSession = "evolve/session";  // digest of the process
inline constexpr const char* kCampaign = "evolve/campaign";
inline constexpr const char* kRound = "evolve/round";
inline constexpr const char* kStep = "evolve/step";
inline constexpr const char* kKey = "evolve/key";  // the action's key, on a Job with one order
inline constexpr const char* kJobName = "batch.kubernetes.io/job-name";
}  // namespace label

}  // namespace evolve::k8s
