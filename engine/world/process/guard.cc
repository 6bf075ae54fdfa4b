#include "engine/world/process/guard.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <new>
#include <utility>

#include "engine/world/files.h"

namespace evolve::world {

namespace {

// Returns once the pipe's other end is closed.
void wait_for_end(int pipe) {
  char byte = 0;
  while (true) {
    ssize_t count = ::read(pipe, &byte, 1);
    if (count == 0 || (count < 0 && errno != EINTR)) return;
  }
}

}  // namespace

Result<Guard> Guard::start() {
  std::array<int, 2> pipe = {-1, -1};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return system_error("pipe", "guard", errno);
  void* memory =
      ::mmap(nullptr, sizeof(Groups), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return system_error("mmap", "guard", errno);
  auto* groups = new (memory) Groups{};
  pid_t pid = ::fork();
  if (pid < 0) return system_error("fork", "guard", errno);
  if (pid == 0) {
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
    ::prctl(PR_SET_NAME, "evolve-guard");
    ::setsid();
    ::close(pipe[1]);
    // The guard must not hold its parent's streams: a reader of the parent's output waits until all
    // holders have closed it.
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    wait_for_end(pipe[0]);
    for (const auto& group : *groups) {
      if (group > 0) ::kill(-group, SIGKILL);
    }
    ::_exit(0);
  }
  ::close(pipe[0]);
  return Guard(pid, pipe[1], groups);
}

Guard::Guard(Guard&& other) noexcept
    : pid_(other.pid_), pipe_(std::exchange(other.pipe_, -1)), groups_(other.groups_) {}

Guard::~Guard() {
  if (pipe_ < 0) return;
  ::close(pipe_);
  ::waitpid(pid_, nullptr, 0);
  ::munmap(groups_, sizeof(Groups));
}

void Guard::add(pid_t group) {
  // With more commands at a time than places, some are not guarded. Their parent's death ends those
  // commands, but not what they started.
  for (auto& place : *groups_) {
    pid_t free = 0;
    if (place == 0 && place.compare_exchange_strong(free, group)) return;
  }
}

void Guard::remove(pid_t group) {
  auto place = std::find(groups_->begin(), groups_->end(), group);
  if (place != groups_->end()) *place = 0;
}

}  // namespace evolve::world
