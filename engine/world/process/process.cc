#include "engine/world/process/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/world/files.h"
#include "engine/world/process/words.h"

namespace evolve::world {

namespace {

struct Pipe {
  Fd read, write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> fds = {-1, -1};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return system_error("pipe", "child", errno);
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

void set_non_blocking(const Fd& fd) {
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
}

WordArray variables_of(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> out;
  out.reserve(environment.size());
  for (const auto& [name, value] : environment) out.push_back(fmt::format("{}={}", name, value));
  return WordArray(std::move(out));
}

bool is_program(const std::string& path) {
  struct stat st = {};
  return ::access(path.c_str(), X_OK) == 0 && ::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode);
}

}  // namespace

std::string find_program(const std::string& name,
                         const std::map<std::string, std::string>& environment) {
  if (name.find('/') != std::string::npos) return name;
  auto path = environment.find("PATH");
  if (path == environment.end()) return {};
  thread_local std::map<std::pair<std::string, std::string>, std::string> found;
  std::string& place = found[{path->second, name}];
  if (!place.empty() && is_program(place)) return place;
  std::string_view rest = path->second;
  while (true) {
    const size_t end = std::min(rest.find(':'), rest.size());
    place = rest.substr(0, end);
    place += place.empty() ? name : "/" + name;
    if (is_program(place)) return place;
    place.clear();
    if (end == rest.size()) return {};
    rest.remove_prefix(end + 1);
  }
}

Result<Process> Process::start(const std::string& line,
                               const std::map<std::string, std::string>& environment,
                               Streams streams, Leftovers leftovers, Spawner& spawner) {
  Process process;
  process.guard_ = &spawner.guard();
  process.leftovers_ = leftovers;
  process.is_group_ = streams != Streams::console;
  Child child;
  child.has_console = streams == Streams::console;
  Pipe in, out, err;
  if (streams != Streams::console) {
    TRY_ASSIGN(auto made, make_pipe());
    out = std::move(made);
  }
  if (streams == Streams::separate) {
    for (Pipe* pipe : {&in, &err}) {
      TRY_ASSIGN(auto made, make_pipe());
      *pipe = std::move(made);
    }
  }
  child.in = std::move(in.read);
  child.out = std::move(out.write);
  child.err = std::move(err.write);
  child.variables = variables_of(environment);
  child.shell = WordArray({"/bin/sh", "-c", line});
  if (auto plain = plain_command(line)) {
    child.program = find_program(plain->front(), environment);
    child.words = WordArray(*std::move(plain));
  }
  process.in_ = std::move(in.write);
  process.out_ = std::move(out.read);
  process.err_ = std::move(err.read);
  for (const Fd* fd : {&process.out_, &process.err_}) {
    if (fd->is_open()) set_non_blocking(*fd);
  }
  process.started_ = spawner.start(std::move(child));
  return process;
}

Process::Process(Process&& other) noexcept
    : started_(std::move(other.started_)),
      pid_(std::exchange(other.pid_, 0)),
      status_(other.status_),
      is_group_(other.is_group_),
      leftovers_(other.leftovers_),
      guard_(other.guard_),
      failure_(std::move(other.failure_)),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      exit_fd_(std::move(other.exit_fd_)) {}

Process::~Process() {
  if (pid() == 0) return;
  kill();
  wait();
}

pid_t Process::pid() {
  if (started_.valid()) {
    pid_ = started_.get();
    if (pid_ < 0) {
      failure_ = system_error("start", "/bin/sh", -pid_).message;
      status_ = 127;
      pid_ = 0;
    }
  }
  return pid_;
}

int Process::exit_descriptor() {
  if (!exit_fd_.is_open() && pid() != 0) {
    exit_fd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid(), 0)));
  }
  return exit_fd_.get();
}

int Process::end(int wait_status) {
  if (is_group_) {
    if (leftovers_ == Leftovers::end) ::kill(-pid_, SIGKILL);
    guard_->remove(pid_);
  }
  pid_ = 0;
  status_ = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  return status_;
}

std::optional<int> Process::ended() {
  if (pid() == 0) return status_;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  return end(status);
}

int Process::wait() {
  if (pid() == 0) return status_;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  return end(status);
}

void Process::kill() {
  if (pid() != 0) ::kill(is_group_ ? -pid_ : pid_, SIGKILL);
}

bool read_available(int fd, std::string& text) {
  std::array<char, 1 << 15> buffer;
  while (true) {
    ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count > 0) {
      text.append(buffer.data(), static_cast<size_t>(count));
    } else if (count == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN;
    }
  }
}

}  // namespace evolve::world
