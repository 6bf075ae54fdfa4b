// The guard process: a child that outlives the engine by a moment. If the engine is killed, the
// guard process ends the processes that the engine left running.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <memory>
#include <utility>

#include "engine/core/result.h"
#include "engine/world/fd.h"

namespace evolve::world {

class GuardProcess {
 public:
  // Forks the guard process. Must be called before this process has threads or other children.
  static Result<GuardProcess> start();
  ~GuardProcess();
  GuardProcess(GuardProcess&& other) = default;
  GuardProcess& operator=(GuardProcess&&) = delete;
  GuardProcess(const GuardProcess&) = delete;
  GuardProcess& operator=(const GuardProcess&) = delete;

  // Puts a process group under guard; remove() takes the group out once it is gone. Both may be
  // called from any thread.
  void add(pid_t group);
  void remove(pid_t group);

 private:
  // The groups under guard, in memory that the guard process shares; 0: a free place. The guard
  // process sleeps until the engine is gone, and reads the memory only then.
  using Groups = std::array<std::atomic<pid_t>, 4096>;

  struct Unmap {
    void operator()(Groups* groups) const;
  };
  using Shared = std::unique_ptr<Groups, Unmap>;

  GuardProcess(pid_t pid, Fd pipe, Shared groups)
      : pid_(pid), pipe_(std::move(pipe)), groups_(std::move(groups)) {}

  pid_t pid_;
  Fd pipe_;  // closes when the engine ends
  Shared groups_;
};

}  // namespace evolve::world
