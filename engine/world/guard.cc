#include "engine/world/guard.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <set>

#include "engine/world/files.h"

namespace evolve::world {

namespace {

// The guard's whole life: keeps the set of groups, and ends them when the pipe closes.
[[noreturn]] void guard_main(int pipe) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::prctl(PR_SET_NAME, "evolve-guard");
  ::setsid();
  // Not ours to hold: whoever reads our parent's output waits for its end.
  for (int fd = 0; fd < 3; ++fd) ::close(fd);
  std::set<pid_t> groups;
  while (true) {
    pid_t message = 0;
    ssize_t count = ::read(pipe, &message, sizeof message);
    if (count < 0 && errno == EINTR) continue;
    if (count != static_cast<ssize_t>(sizeof message)) break;
    if (message > 0) {
      groups.insert(message);
    } else {
      groups.erase(-message);
    }
  }
  for (pid_t group : groups) ::kill(-group, SIGKILL);
  ::_exit(0);
}

}  // namespace

Result<Guard> Guard::start() {
  std::array<int, 2> pipe = {-1, -1};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return system_error("pipe", "guard", errno);
  pid_t pid = ::fork();
  if (pid < 0) return system_error("fork", "guard", errno);
  if (pid == 0) {
    ::close(pipe[1]);
    guard_main(pipe[0]);
  }
  ::close(pipe[0]);
  return Guard(pid, pipe[1]);
}

Guard::Guard(Guard&& other) noexcept : pid_(other.pid_), pipe_(other.pipe_) {
  other.pid_ = -1;
  other.pipe_ = -1;
}

Guard::~Guard() {
  if (pipe_ < 0) return;
  ::close(pipe_);
  ::waitpid(pid_, nullptr, 0);
}

void Guard::tell(pid_t message) const {
  [[maybe_unused]] ssize_t written = ::write(pipe_, &message, sizeof message);
}

}  // namespace evolve::world
