// The dispatcher: from errands to Jobs and back. It prepares orders, claims them, makes Jobs of
// those that share a node pool, follows what becomes of them, and fetches results. It does a little
// at each turn(); who drives it tells it what the watches see (runner.h). One thread.
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
#include "k8s/sight.h"

namespace evolve::k8s {

struct NodePool {
  JobSettings job;
  int batch = 1;      // orders a Job, at most
  int most_jobs = 1;  // at a time
};

struct DispatcherSettings {
  std::string space;  // the namespace
  std::map<std::string, NodePool> pools;
  std::vector<MachineBinding> machine;
  Labels labels;     // of all that is ours: campaign, owner, session
  std::string logs;  // folder for the logs of pods that failed; empty: none are kept
  // True where the process of that session, on this machine, has ended.
  std::function<bool(const std::string& session)> is_dead;
};

// What is going on, for one line.
struct NodeState {
  std::string summary;  // "tpu 2 running, 5 waiting"; empty: nothing is
  std::string trouble;  // "tpu: waits for a node: 0/1 nodes are available"; empty: none
};

class Dispatcher {
 public:
  // All must outlive this.
  Dispatcher(Api& api, Store& store, Files& files, Clock& clock, DispatcherSettings settings);

  // REQUIRES: the command has an errand of a known pool.
  void add(Command command);
  void see(const JobSight& job);
  void see(const PodSight& pod);
  void lose_job(const std::string& name);
  void lose_pod(const std::string& name);

  // Does what is to be done now; says what has completed.
  std::vector<Completed> turn();
  // True while an errand is under way.
  [[nodiscard]] bool is_busy() const { return !tickets_.empty(); }
  [[nodiscard]] NodeState state() const;
  [[nodiscard]] const std::map<std::string, NodeUse>& use() const { return use_; }
  // Faults of nodes and pods that were made good.
  [[nodiscard]] int faults() const { return faults_; }
  // Deletes our Jobs and ConfigMaps, and those of processes of this machine and state folder that
  // have ended.
  Status clean_up();

 private:
  // An errand under way, by its order's name.
  struct Ticket {
    Command command;
    Order order;
    std::string text;      // of the order
    std::string job;       // that has it; empty: it waits
    std::string finished;  // the last Job that had it, and ended with it
    int attempts = 0;      // Jobs of ours that it was in, in this process
    int earlier = 0;       // those of them that an earlier errand had
    double ready_at = 0;   // it waits until then
    double since = 0;
  };
  struct Job {
    std::string pool;
    std::set<std::string> orders;  // those that are not settled
    bool is_ours = false;
    double polled = 0;
    bool is_gone = false;
  };
  // What the watches told of a Job and its pods, of anybody's.
  struct Seen {
    bool is_there = false;
    JobSight job;
    std::map<std::string, PodSight> pods;
  };
  // Makes orders of what was added, and settles those that have a record.
  void prepare(double now);
  Result<std::string> prepare(const Command& command, double now);
  void launch(double now);
  // Claims and starts a Job for some of the pool's waiting orders.
  Status launch(const std::string& pool, const std::vector<std::string>& orders, double now);
  Status create_job(const std::string& name, const std::string& pool,
                    const std::vector<std::string>& orders, double now);
  // A Job of that name is there already: it is ours, unless it has ended.
  Status adopt(const std::string& name, const std::string& pool,
               const std::vector<std::string>& orders, double now);
  void assign(const std::string& name, const std::string& pool,
              const std::vector<std::string>& orders, bool is_ours);
  void follow(double now);
  // Settles orders of a Job that have a record; and the others, where it has ended.
  Status settle(const std::string& name, bool has_ended, double now);
  // The run that a Job made of an order; nullopt: there is no record of it, or another than its
  // pod's last words say. That a command failed those must say: it may have been another time.
  std::optional<Run> run_of(const std::string& order, const std::optional<StoreRecord>& record,
                            const std::map<std::string, std::string>& words);
  // What its pods' last words say of their records: the record's digest by the order's first
  // digits.
  [[nodiscard]] std::map<std::string, std::string> last_words(const std::string& job) const;
  // An order's Job has ended without a record of it.
  void retry(const std::string& order, const std::string& job, double now);
  // Nothing was made of these: they wait until then.
  void put_back(const std::vector<std::string>& orders, double until);
  Status deliver(const std::string& order, const Run& run);
  void complete(const std::string& order, Completed completed);
  // Ends an errand for a reason that is not its command's.
  void give_up(const std::string& order, const std::string& why);
  // Nothing is expected of a Job any more.
  void finish(const std::string& name);
  Status remove_finished();
  [[nodiscard]] const PodSight* last_pod(const std::string& job) const;
  [[nodiscard]] std::string why_ended(const std::string& job) const;
  void keep_log(const PodSight& pod);
  void count_use(const PodSight& pod);
  // Notes that the world failed; what was at hand is tried again. Where that lasts, all fails.
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
  std::map<std::string, int> attempts_;  // of orders that were in Jobs of ours, by name
  std::map<std::string, Job> jobs_;
  std::deque<std::string> finished_;  // Jobs of ours that are to be deleted
  std::map<std::string, Seen> seen_;
  std::map<std::string, NodeUse> use_;
  std::set<std::string> counted_;  // pods, by uid
  std::vector<Completed> completed_;
  std::string trouble_;  // with the cluster or the store; empty: none
  double trouble_since_ = 0;
  double resume_at_ = 0;
  int faults_ = 0;
};

}  // namespace evolve::k8s
