// Claims on orders. A claim says which Job runs an order, among the Jobs of all processes that
// share a namespace. It is the order's ConfigMap, which can exist only once, and it names the Job.
//
// A claim without a Job belongs to a process that is about to make the Job, or that died. Another
// process waits for `kStaleSeconds` and then takes the claim. It takes the claim at once if it can
// tell that the owner will not make the Job. A process makes its Job within half of `kStaleSeconds`
// after the claim, or claims again. (A Job that still comes later sees in the claim that its order
// belongs to another Job, and does not run the order.)
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "k8s/api.h"
#include "k8s/job.h"

namespace evolve::k8s {

inline constexpr double kStaleSeconds = 60;

class OrderClaims {
 public:
  // `is_dead` returns whether the process of a session, on this machine, has ended.
  OrderClaims(Api& api, std::string space, Labels labels,
              std::function<bool(const std::string& session)> is_dead)
      : api_(api),
        space_(std::move(space)),
        labels_(std::move(labels)),
        is_dead_(std::move(is_dead)) {}

  struct Claim {
    enum class Kind {
      ours,
      taken,  // by a Job that exists
      later,  // the owner is not settled yet: try again
    };
    Kind kind = Kind::later;
    std::string job;  // the Job that has a taken order
  };
  // Claims an order for our Job `job`, which does not exist yet, or is ours. `finished`: the Job
  // that had the order and has ended; empty: none is known.
  Result<Claim> claim(const std::string& order, const std::string& text, const std::string& job,
                      const std::string& finished, double now);
  // Makes the cluster delete the claim together with its Job.
  Status bind(const std::string& order, const std::string& job, const std::string& job_uid);
  Status release(const std::string& order);

 private:
  Result<Claim> look(const std::string& order, const std::string& text, const std::string& job,
                     const std::string& finished, double now);
  // Whether the Job exists and is not being deleted.
  Result<bool> has_job(const std::string& job);
  [[nodiscard]] std::string path_of(const std::string& order) const;
  [[nodiscard]] std::string configmaps() const;

  Api& api_;
  std::string space_;
  Labels labels_;
  std::function<bool(const std::string& session)> is_dead_;
  std::map<std::string, double> orphaned_;  // when we first saw that a claim has no Job
};

}  // namespace evolve::k8s
