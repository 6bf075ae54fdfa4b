// What we see of Jobs and their pods: the few facts that count, of the objects that the API has.
// Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace evolve::k8s {

struct JobSight {
  std::string name, uid;
  std::string session;  // of whom it is (labels.h): the process, and its state folder
  std::string owner;
  bool is_complete = false;
  bool is_failed = false;
  bool is_suspended = false;    // it waits in a queue
  bool is_leaving = false;      // it is being deleted
  std::string reason, message;  // why it failed: "DeadlineExceeded"
};

struct PodSight {
  std::string name, uid, job;
  std::string phase;          // "Pending", "Running", "Succeeded", "Failed"
  std::string node;           // empty: none yet
  std::string unschedulable;  // the scheduler's words; empty: it is, or was not tried
  std::string waiting_reason, waiting_message;  // of the container: "ErrImagePull"
  // Of one that has ended.
  int exit_code = 0;
  std::string end_reason;  // "Completed", "Error", "OOMKilled"
  std::string last_words;  // its termination message
  std::string
      disruption;  // why it was ended from outside: "PreemptionByScheduler"; empty: it was not
  std::string started, finished;  // ISO 8601
  int chips = 0;                  // of TPU that it holds

  [[nodiscard]] bool has_ended() const { return phase == "Succeeded" || phase == "Failed"; }
};

JobSight job_sight(const nlohmann::json& job);
PodSight pod_sight(const nlohmann::json& pod);

// Why a pod does not run, or ended badly, in words for one line; empty: there is nothing to say.
std::string trouble_of(const PodSight& pod);

// Whether such an end may be another one next time: a disruption, or a fault of the node; a
// container that wants more memory than it may have, or turned its orders down, ends so again.
bool may_pass(const PodSight& pod);

// What the agent ends with where its orders are of no use (k8s/agent/agent.h).
inline constexpr int kBadOrders = 2;
// What a line of its last words begins with that says why it failed.
inline constexpr std::string_view kAgentError = "error: ";

// Labels of ours, on Jobs, pods and ConfigMaps.
namespace label {
inline constexpr const char* kManagedBy = "app.kubernetes.io/managed-by";
inline constexpr const char* kEvolve = "evolve";
inline constexpr const char* kOwner = "evolve/owner";      // digest of machine and state folder
inline constexpr const char* kSession = "evolve/session";  // digest of the process
inline constexpr const char* kCampaign = "evolve/campaign";
inline constexpr const char* kRound = "evolve/round";
inline constexpr const char* kStep = "evolve/step";
inline constexpr const char* kKey = "evolve/key";  // the action's, of a Job with one order
inline constexpr const char* kJobName = "batch.kubernetes.io/job-name";
}  // namespace label

}  // namespace evolve::k8s
