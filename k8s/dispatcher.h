// The dispatcher, which runs errands as Jobs. It prepares orders, claims them, makes Jobs of orders
// that share a node pool, follows those Jobs, and fetches results. It does a part of this at each
// turn(). Its caller passes on the reports of the watches (runner.h). Only one thread may use it.
//
//   waiting ──(claimed)──► in a Job of ours ──(record)──► settled
//      │                     └──(fault that may pass)──► waiting
//      └──(another's Job has it)──► followed ──(record, or that Job is gone)──► settled, or waiting
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/core/ports.h"
#include "engine/core/store.h"
#include "k8s/api.h"
#include "k8s/claims.h"
#include "k8s/job.h"
#include "k8s/object_state.h"

namespace evolve::k8s {

struct PodPool {
  JobSettings job;
  int batch = 1;      // most orders in a Job
  int most_jobs = 1;  // most Jobs at a time
};

struct DispatcherSettings {
  std::string space;  // the namespace
  std::map<std::string, PodPool> pools;
  std::vector<MachineBinding> machine;
  Labels labels;     // on all objects of ours: campaign, owner, session
  std::string logs;  // folder for the logs of pods that failed; empty: no logs
  // Returns whether the process of a session, on this machine, has ended.
  std::function<bool(const std::string& session)> is_dead;
};

// The state of the work on the cluster, in texts for a single line.
struct ClusterState {
  std::string summary;  // "tpu 2 running, 5 waiting"; empty: no work
  std::string trouble;  // "tpu: waiting for a node: 0/1 nodes are available"; empty: none
};

class Dispatcher {
 public:
  // All references must outlive this.
  Dispatcher(Api& api, Store& store, Files& files, Clock& clock, DispatcherSettings settings);

  // REQUIRES: the command has an errand of a known pool.
  void add(Command command);
  void see(const JobState& job);
  void see(const PodState& pod);
  void lose_job(const std::string& name);
  void lose_pod(const std::string& name);

  // Does the work that is due now. Returns the commands that have completed.
  std::vector<Completed> turn();
  // Whether an errand is under way.
  [[nodiscard]] bool is_busy() const { return !tickets_.empty(); }
  [[nodiscard]] ClusterState state() const;
  [[nodiscard]] const std::map<std::string, PoolUse>& use() const { return use_; }
  // The number of faults of nodes and pods so far.
  [[nodiscard]] int faults() const { return faults_; }
  // Deletes our Jobs and ConfigMaps, and those of processes of this machine and state folder that
  // have ended.
  Status clean_up();

 private:
  // An errand under way. The name of its order is its key in `tickets_`.
  struct Ticket {
    Command command;
    Order order;
    std::string text;      // the encoded order
    std::string job;       // the Job that has the order; empty: the order waits
    std::string finished;  // the last Job that had the order, and has ended
    int attempts = 0;      // number of Jobs of ours that had the order, in this process
    int earlier = 0;       // attempts of an earlier errand
    double ready_at = 0;   // the time until which the order waits
    double since = 0;
  };
  struct Job {
    std::string pool;
    std::set<std::string> orders;  // orders that are not settled
    bool is_ours = false;
    double polled = 0;
    bool is_gone = false;
  };
  // The last reports of the watches on a Job (ours or another owner's) and on its pods.
  struct Seen {
    bool is_there = false;
    JobState job;
    std::map<std::string, PodState> pods;
  };
  // Makes orders of the commands that were added, and settles the orders that have a record.
  void prepare(double now);
  Result<std::string> prepare(const Command& command, double now);
  void launch(double now);
  // Claims and starts a Job for some of the pool's waiting orders.
  Status launch(const std::string& pool, const std::vector<std::string>& orders, double now);
  Status create_job(const std::string& name, const std::string& pool,
                    const std::vector<std::string>& orders, double now);
  // Takes over a Job of that name that exists already. The Job is ours if its owner label is ours.
  // If the Job has ended, its orders wait for another Job.
  Status adopt(const std::string& name, const std::string& pool,
               const std::vector<std::string>& orders, double now);
  void assign(const std::string& name, const std::string& pool,
              const std::vector<std::string>& orders, bool is_ours);
  void follow(double now);
  // Settles the orders of a Job that have a record, and retries the others if the Job has ended.
  Status settle(const std::string& name, bool has_ended, double now);
  // Returns the run that a Job made of an order. Nullopt: there is no record of the run, or the
  // pods' last words name another record. A failed run counts only if the last words name its
  // record. Otherwise the record may be left from an earlier attempt.
  std::optional<Run> run_of(const std::string& order, const std::optional<StoreEntry>& record,
                            const std::map<std::string, std::string>& words);
  // Returns the records that the last words of a Job's pods name, as a map from the first digits of
  // an order's name to the digest of its record.
  [[nodiscard]] std::map<std::string, std::string> last_words(const std::string& job) const;
  // Handles an order whose Job has ended without a record: the order waits for another Job, or
  // fails.
  void retry(const std::string& order, const std::string& job, double now);
  // Makes orders that got no Job wait until `until`.
  void put_back(const std::vector<std::string>& orders, double until);
  Status deliver(const std::string& order, const Run& run);
  void complete(const std::string& order, Completed completed);
  // Fails an errand for a reason outside of its command.
  void give_up(const std::string& order, const std::string& why);
  // Drops a Job that has no orders left. If the Job is ours, it is deleted later.
  void finish(const std::string& name);
  Status remove_finished();
  [[nodiscard]] const PodState* last_pod(const std::string& job) const;
  [[nodiscard]] std::string why_ended(const std::string& job) const;
  void keep_log(const PodState& pod);
  void count_use(const PodState& pod);
  // Notes whether the cluster and the store work. After a failure, all work waits and is tried
  // again. If the failures last, all errands fail.
  void note(const Status& status, double now);
  [[nodiscard]] Labels labels_of(const std::vector<std::string>& orders) const;
  [[nodiscard]] std::string jobs_path(const std::string& name = "") const;
  Status clean_up(const std::string& path);

  Api& api_;
  Store& store_;
  Files& files_;
  Clock& clock_;
  DispatcherSettings settings_;
  OrderClaims claims_;
  std::deque<Command> fresh_;
  std::map<std::string, Ticket> tickets_;
  std::map<std::string, int> attempts_;  // number of Jobs of ours that had an order, by its name
  std::map<std::string, Job> jobs_;
  std::deque<std::string> finished_;  // Jobs of ours to delete
  std::map<std::string, Seen> seen_;
  std::map<std::string, PoolUse> use_;
  std::set<std::string> counted_;  // pods that `use_` includes, by uid
  std::vector<Completed> completed_;
  std::string trouble_;  // with the cluster or the store; empty: none
  double trouble_since_ = 0;
  double resume_at_ = 0;
  int faults_ = 0;
};

}  // namespace evolve::k8s
