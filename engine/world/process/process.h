// A child process with its pipes, in a process group of its own that dies with us.
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
  console,   // the terminal's own
};

// What becomes of processes that a command leaves in its group.
enum class Leftovers {
  end,   // they are no part of any build
  stay,  // a compiler server, say, which the next command is to find
};

// Where a program that is named without a folder lies, by the PATH that the command would have;
// empty: nowhere. What was found is taken to stay where it is while it is there.
std::string find_program(const std::string& name,
                         const std::map<std::string, std::string>& environment);

// A running command. Ended, with all its group, when the object goes.
class Process {
 public:
  // Starts a command line with `environment` as its whole environment: as `/bin/sh -c line`, or
  // without the shell where that comes to the same. Where no process could be made, the command has
  // ended with 127 and said why. `spawner` must outlive the process.
  static Result<Process> start(const std::string& line,
                               const std::map<std::string, std::string>& environment,
                               Streams streams, Leftovers leftovers, Spawner& spawner);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // stdout (and stderr where merged); non-blocking. Not open for a console process.
  [[nodiscard]] Fd& out() { return out_; }
  [[nodiscard]] Fd& err() { return err_; }
  [[nodiscard]] Fd& in() { return in_; }
  // Readable once the process has ended.
  int exit_descriptor();

  // The exit code, or 128 + the signal, once the process has ended.
  std::optional<int> ended();
  // Waits for the end; what ended() tells then.
  int wait();
  // Ends the whole group at once.
  void kill();
  // Where no process could be made: why; empty otherwise.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  Process() = default;
  // Takes note of the end.
  int end(int wait_status);

  // Its number, once it has been started; 0: it has ended.
  pid_t pid();

  std::future<pid_t> started_;  // valid until pid() was asked for
  pid_t pid_ = 0;
  int status_ = 0;  // how it ended
  bool is_group_ = false;
  Leftovers leftovers_ = Leftovers::end;
  Guard* guard_ = nullptr;
  std::string failure_;
  Fd in_, out_, err_, exit_fd_;
};

// Appends what can be read now to `text`. False at the end of the stream.
bool read_available(int fd, std::string& text);

}  // namespace evolve::world
