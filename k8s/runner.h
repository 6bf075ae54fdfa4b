// The runner `k8s`: commands with an errand go to a cluster's nodes, all others to another runner.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/core/ports.h"
#include "k8s/dispatcher.h"
#include "k8s/watch.h"

namespace evolve::k8s {

class PodRunner : public Runner {
 public:
  // `local` runs commands without an errand. The watches use the API `watching`; `stop_watching`
  // ends its requests. All references must outlive this.
  PodRunner(Runner& local, Dispatcher& dispatcher, Api& watching, const std::string& space,
            std::function<void()> stop_watching, Clock& clock,
            std::function<void(double seconds)> pause);
  ~PodRunner() override;
  PodRunner(const PodRunner&) = delete;
  PodRunner& operator=(const PodRunner&) = delete;

  bool acquire() override { return local_.acquire(); }
  Status start(const Command& command) override;
  Result<RunnerEvent> wait(double tick_seconds) override;
  double load() override { return local_.load(); }
  // Ends the commands that run here, and deletes our objects on the cluster (Dispatcher::clean_up).
  // Objects of other running processes stay.
  void stop() override;

  [[nodiscard]] ClusterState state();

 private:
  void dispatch();
  // Queues `what`. The dispatcher's thread calls it before the next turn.
  void tell(std::function<void(Dispatcher&)> what);

  Runner& local_;
  Dispatcher& dispatcher_;
  std::function<void()> stop_watching_;
  Clock& clock_;
  std::function<void(double seconds)> pause_;
  Watch jobs_, pods_;
  std::atomic<bool> is_stopping_ = false;
  std::mutex mutex_;  // guards the members below
  std::deque<std::function<void(Dispatcher&)>> told_;
  std::deque<Completed> completed_;
  ClusterState state_;
  std::string blind_;  // why the watches get no reports; empty: they do
  std::vector<std::thread> threads_;
};

}  // namespace evolve::k8s
