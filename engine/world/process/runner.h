// The local runner: commands as child processes, or through warm persistent workers.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/core/ports.h"
#include "engine/world/process/guard.h"
#include "engine/world/process/jobserver.h"
#include "engine/world/process/process.h"
#include "engine/world/process/worker.h"

namespace evolve::world {

class LocalRunner : public Runner {
 public:
  // `guard` must outlive the runner.
  LocalRunner(GuardProcess& guard, Clock& clock) : spawner_(guard), clock_(clock) {}

  // From now on, takes slots from this jobserver.
  void use(Jobserver jobserver) { jobserver_.emplace(std::move(jobserver)); }

  bool acquire() override;
  Status start(const Command& command) override;
  Result<RunnerEvent> wait(double tick_seconds) override;
  double load() override;
  void stop() override;

 private:
  struct Running {
    uint64_t id = 0;
    double started = 0;
    double deadline = 0;               // 0: none
    std::unique_ptr<Process> process;  // the command's own process, or null
    Worker* worker = nullptr;          // the worker that serves the command, or null
    std::string output;
  };

  Result<Worker*> idle_worker(const Command& command);
  // Polls all descriptors for up to `seconds`.
  void poll(double seconds);
  // Returns the completion of a command that has ended or timed out. Nullopt: it still runs.
  std::optional<Completed> look_at(Running& running);
  std::optional<Completed> look_at_worker(Running& running);
  Completed completed(const Running& running, int exit_status, bool timed_out);
  void drop_worker(const Worker* worker);

  Spawner spawner_;  // declared first, to outlive the processes that it started
  Clock& clock_;
  std::list<Running> running_;
  std::list<Worker> workers_;
  std::optional<Jobserver> jobserver_;
  bool has_slot_ = false;  // a slot that no command uses yet
  bool waits_for_slot_ = false;
};

}  // namespace evolve::world
