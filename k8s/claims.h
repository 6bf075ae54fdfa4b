// Claims on orders: which Job runs one, of all Jobs of all processes that share a namespace. A
// claim is the order's ConfigMap, of which there can be one, and says its Job.
//
// A claim whose Job is not there is of someone who is about to make it, or who died: who finds it
// waits for `kStaleSeconds`, and then takes it; at once where it can be seen that he is not. Who
// makes a Job does so within half of that of his claim, or claims anew. (A Job that comes later all
// the same finds in the claim that its order is another's, and leaves it alone.)
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
  // `is_dead`: true where the process of that session, on this machine, has ended.
  OrderClaims(Api& api, std::string space, Labels labels,
              std::function<bool(const std::string& session)> is_dead)
      : api_(api),
        space_(std::move(space)),
        labels_(std::move(labels)),
        is_dead_(std::move(is_dead)) {}

  struct Outcome {
    enum class Kind {
      ours,
      taken,  // by a Job that is there
      later,  // try again: whose it is, is not settled
    };
    Kind kind = Kind::later;
    std::string job;  // of one that is taken
  };
  // Claims an order for our Job `job`, which is not there yet, or is ours. `finished`: the Job
  // that had it and has ended with it; empty: none is known.
  Result<Outcome> claim(const std::string& order, const std::string& text, const std::string& job,
                        const std::string& finished, double now);
  // Has the claim go when its Job does.
  Status bind(const std::string& order, const std::string& job, const std::string& job_uid);
  Status release(const std::string& order);

 private:
  Result<Outcome> look(const std::string& order, const std::string& text, const std::string& job,
                       const std::string& finished, double now);
  // Whether the Job is there, and not on its way out.
  Result<bool> has_job(const std::string& job);
  [[nodiscard]] std::string path_of(const std::string& order) const;
  [[nodiscard]] std::string configmaps() const;

  Api& api_;
  std::string space_;
  Labels labels_;
  std::function<bool(const std::string& session)> is_dead_;
  std::map<std::string, double> orphaned_;  // since when we know that a claim has no Job
};

}  // namespace evolve::k8s
