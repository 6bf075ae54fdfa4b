// The spawner, which starts processes on threads of its own. A vfork blocks its thread until the
// child has become the command, which takes most of a millisecond if all cores are busy. The build
// goes on meanwhile.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/world/fd.h"
#include "engine/world/process/guard.h"

namespace evolve::world {

// A null-terminated array of pointers to texts; it owns the texts.
class WordArray {
 public:
  WordArray() : WordArray(std::vector<std::string>()) {}
  explicit WordArray(std::vector<std::string> words);
  [[nodiscard]] char* const* get() const { return pointers_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

// All that a child needs to become its command.
struct Child {
  std::string program;  // executed with `words`; if empty or not executable, `shell` is executed
  WordArray words, shell, variables;
  Fd in, out, err;           // the child's ends; if not open, stdin is empty, and stderr is stdout
  bool has_console = false;  // shares our group and terminal, and has no pipes
};

class Spawner {
 public:
  // `guard` must outlive the spawner. The spawner must outlive all processes that it started,
  // because children die with its threads.
  explicit Spawner(GuardProcess& guard);
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  // Starts a child. The future gives the process's number, or minus the errno of vfork(2). If the
  // child has a group of its own, the group has the process's number, and is under guard by then.
  std::future<pid_t> start(Child child);
  GuardProcess& guard() { return guard_; }

 private:
  struct Job {
    Child child;
    std::promise<pid_t> started;
  };

  void work();

  GuardProcess& guard_;
  std::mutex mutex_;
  std::condition_variable has_job_;
  std::deque<Job> jobs_;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace evolve::world
