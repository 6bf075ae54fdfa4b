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

Result<GuardProcess> GuardProcess::start() {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("pipe", "guard", errno);
  Fd reader(ends[0]), writer(ends[1]);
  void* memory =
      ::mmap(nullptr, sizeof(Groups), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return system_error("mmap", "guard", errno);
  Shared groups(new (memory) Groups{});
  pid_t pid = ::fork();
  if (pid < 0) return system_error("fork", "guard", errno);
  if (pid == 0) {
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
    ::prctl(PR_SET_NAME, "evolve-guard");
    ::setsid();
    writer.reset();
    // The guard process must not hold the engine's streams: a reader of the engine's output waits
    // until all holders have closed it.
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    wait_for_end(reader.get());
    for (const auto& group : *groups) {
      if (group > 0) ::kill(-group, SIGKILL);
    }
    ::_exit(0);
  }
  return GuardProcess(pid, std::move(writer), std::move(groups));
}

void GuardProcess::Unmap::operator()(Groups* groups) const {
  ::munmap(groups, sizeof(Groups));
}

GuardProcess::~GuardProcess() {
  if (!pipe_.is_open()) return;
  pipe_.reset();
  ::waitpid(pid_, nullptr, 0);
}

void GuardProcess::add(pid_t group) {
  // If more commands run at a time than there are places, some are not guarded. The death of their
  // parent ends these commands, but not the processes that they started.
  for (auto& place : *groups_) {
    pid_t free = 0;
    if (place == 0 && place.compare_exchange_strong(free, group)) return;
  }
}

void GuardProcess::remove(pid_t group) {
  auto place = std::find(groups_->begin(), groups_->end(), group);
  if (place != groups_->end()) *place = 0;
}

}  // namespace evolve::world
