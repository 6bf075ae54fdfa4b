// A child process with its pipes, in a process group of its own that dies with us.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>

#include "engine/core/result.h"
#include "engine/world/guard.h"

namespace evolve::world {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_ = -1;
};

enum class Streams {
  merged,    // stdin empty; stdout and stderr are one pipe
  separate,  // stdin, stdout and stderr are three pipes
  console,   // the terminal's own
};

// A running shell command. Ended, with all its group, when the object goes.
class Process {
 public:
  // Starts `/bin/sh -c line` with `environment` as its whole environment. `guard` must outlive it.
  static Result<Process> start(const std::string& line,
                               const std::map<std::string, std::string>& environment,
                               Streams streams, Guard& guard);
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
  [[nodiscard]] int exit_descriptor() const { return exit_fd_.get(); }

  // Waits for the end; the exit code, or 128 + the signal.
  int wait();
  // Ends the whole group at once.
  void kill();

 private:
  Process() = default;

  pid_t pid_ = -1;
  bool is_group_ = false;
  Guard* guard_ = nullptr;
  Fd in_, out_, err_, exit_fd_;
};

// Appends what can be read now to `text`. False at the end of the stream.
bool read_available(int fd, std::string& text);

}  // namespace evolve::world
