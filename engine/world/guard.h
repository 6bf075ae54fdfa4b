// The guard: a child process that outlives us by a moment, and ends what we left running when we
// are killed without a chance to do it ourselves.
#pragma once

#include <sys/types.h>

#include "engine/core/result.h"

namespace evolve::world {

class Guard {
 public:
  // Forks the guard. Must be called before the process has threads or other children.
  static Result<Guard> start();
  ~Guard();
  Guard(Guard&& other) noexcept;
  Guard& operator=(Guard&&) = delete;
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // Takes a process group under guard, and out again once it is gone.
  void add(pid_t group) { tell(group); }
  void remove(pid_t group) { tell(-group); }

 private:
  Guard(pid_t pid, int pipe) : pid_(pid), pipe_(pipe) {}
  void tell(pid_t message) const;

  pid_t pid_;
  int pipe_;
};

}  // namespace evolve::world
