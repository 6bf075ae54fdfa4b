// A child process with its pipes, in a process group of its own that dies with the engine.
#pragma once

#include <sys/types.h>

#include <future>
#include <map>
#include <optional>
#include <string>

#include "engine/core/result.h"
#include "engine/world/fd.h"
#include "engine/world/process/guard.h"
#include "engine/world/process/spawner.h"

namespace evolve::world {

enum class Streams {
  merged,    // stdin empty; stdout and stderr are one pipe
  separate,  // stdin, stdout and stderr are three pipes
  console,   // the terminal's own streams
};

// How to treat processes that a command leaves in its group.
enum class Leftovers {
  end,   // kill them, because they are not part of any build
  stay,  // let them run, because the next command may need them (a compiler server)
};

// Returns the path of a program that is named without a folder, by the PATH in `environment`;
// empty: not found. A name with a folder is returned as it is. A program that was found once is not
// searched for again while it is still there.
std::string find_program(const std::string& name,
                         const std::map<std::string, std::string>& environment);

// A running command. The destructor ends the command with its whole group.
class Process {
 public:
  // Starts a command line with `environment` as its whole environment: as `/bin/sh -c line`, or
  // without the shell if the effect is the same. If no process can be made, the command counts as
  // ended with 127, and failure() says why. `spawner` must outlive the process.
  static Result<Process> start(const std::string& line,
                               const std::map<std::string, std::string>& environment,
                               Streams streams, Leftovers leftovers, Spawner& spawner);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Our ends of the pipes. out() is stdout, and also stderr where the streams are merged. out() and
  // err() are non-blocking. Only Streams::separate opens err() and in(). A console process has no
  // pipes.
  [[nodiscard]] Fd& out() { return out_; }
  [[nodiscard]] Fd& err() { return err_; }
  [[nodiscard]] Fd& in() { return in_; }
  // Returns a descriptor that is readable once the process has ended.
  int exit_descriptor();

  // Returns the exit code, or 128 + the signal. Nullopt: the process still runs.
  std::optional<int> ended();
  // Waits for the end, and returns what ended() then returns.
  int wait();
  // Kills the whole group at once.
  void kill();
  // Returns why no process could be made; empty: a process was made.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  Process() = default;
  // Records the end, and returns the exit code.
  int end(int wait_status);

  // Waits until the process is started, and returns its number; 0: it has ended, or could not be
  // made.
  pid_t pid();

  std::future<pid_t> started_;  // valid until the first call of pid()
  pid_t pid_ = 0;
  int status_ = 0;  // exit code, once ended
  bool is_group_ = false;
  Leftovers leftovers_ = Leftovers::end;
  GuardProcess* guard_ = nullptr;
  std::string failure_;
  Fd in_, out_, err_, exit_fd_;
};

// Appends to `text` what can be read now. False: the stream has ended.
bool read_available(int fd, std::string& text);

}  // namespace evolve::world
