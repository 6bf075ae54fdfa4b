#include "engine/world/console.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "engine/world/files.h"

namespace evolve::world {

Status run_on_console(const std::string& line) {
  // The child stays in this process's group, because only that group may read from the terminal.
  std::string shell = "/bin/sh", flag = "-c", command = line;
  std::array<char*, 4> words = {shell.data(), flag.data(), command.data(), nullptr};
  pid_t pid = 0;
  const int failure = ::posix_spawn(&pid, shell.c_str(), nullptr, nullptr, words.data(), environ);
  if (failure != 0) return system_error("posix_spawn", shell, failure);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return system_error("waitpid", shell, errno);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return external(fmt::format("'{}' exited with {}", line,
                              WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)));
}

}  // namespace evolve::world
