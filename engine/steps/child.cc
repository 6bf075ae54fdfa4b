#include "engine/steps/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <new>

#include "engine/world/fd.h"
#include "engine/world/files.h"

namespace evolve::steps {

namespace {

// Exit codes of a child process whose work does not come to an end. They are above the codes of
// errors.
constexpr int kNoMemory = 98;
constexpr int kThrown = 99;

void limit(int resource, uint64_t most) {
  const rlimit both{most, most};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

void confine(const ChildLimits& limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // If the machine runs out of memory, Linux ends this child first.
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, limits.cpu_seconds);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers map terabytes
  limit(RLIMIT_AS, limits.memory_bytes);
#endif
}

// Returns the child's exit code; `out` receives the error's message.
int run(const std::function<Status()>& work, std::string& out) {
  try {
    const Status status = work();
    if (status) return 0;
    out = status.error().message;
    return exit_code(status.error().code);
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  } catch (const std::exception& error) {
    out = error.what();
    return kThrown;
  }
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<size_t>(count));
  }
}

std::string read_all(int fd) {
  std::string out;
  std::array<char, 4096> block;
  while (true) {
    const ssize_t count = ::read(fd, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return out;
    out.append(block.data(), static_cast<size_t>(count));
  }
}

ErrorCode code_of(int exit_status) {
  for (ErrorCode code : {ErrorCode::failed, ErrorCode::bad_input, ErrorCode::external}) {
    if (exit_code(code) == exit_status) return code;
  }
  return ErrorCode::internal;
}

}  // namespace

Result<std::optional<std::string>> in_child(const std::function<Status()>& work,
                                            const ChildLimits& limits) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return world::system_error("pipe2", "", errno);
  const world::Fd from(ends[0]);
  world::Fd to(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return world::system_error("fork", "", errno);
  if (child == 0) {
    confine(limits);
    std::string words;
    const int code = run(work, words);
    write_all(to.get(), words);
    ::_exit(code);
  }
  to.reset();
  std::string words = read_all(from.get());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return world::system_error("waitpid", "", errno);
  }
  const std::string no_memory =
      fmt::format("needs more than {} GiB of memory", limits.memory_bytes >> 30);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGXCPU)
      return std::optional(fmt::format("takes more than {} s", limits.cpu_seconds));
    if (signal == SIGKILL) return std::optional(no_memory);
    return std::optional(fmt::format("died of signal {}", signal));
  }
  const int code = WEXITSTATUS(status);
  if (code == kNoMemory) return std::optional(no_memory);
  if (code == kThrown) return std::optional("internal error: " + words);
  if (code != 0) return Error{.code = code_of(code), .message = std::move(words)};
  return std::optional<std::string>();
}

}  // namespace evolve::steps
