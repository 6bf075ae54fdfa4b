#include "engine/world/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include "engine/world/files.h"

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

// What the child does between fork and exec: only calls that are safe there.
struct ChildSetup {
  int in = -1;  // becomes stdin, and so on; -1: stays
  int out = -1;
  int err = -1;
  bool own_group = true;
  pid_t parent = 0;

  void apply() const {
    // A child that starts after its parent died would never get the signal: look again after prctl.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    if (own_group) ::setpgid(0, 0);
    if (in >= 0) ::dup2(in, 0);
    if (out >= 0) ::dup2(out, 1);
    if (err >= 0) ::dup2(err, 2);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
  }
};

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int Fd::release() {
  return std::exchange(fd_, -1);
}

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<Process> Process::start(const std::string& line,
                               const std::map<std::string, std::string>& environment,
                               Streams streams, Guard& guard) {
  Process process;
  process.guard_ = &guard;
  Pipe in, out, err;
  Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (streams != Streams::console) {
    auto made = make_pipe();
    if (!made) return std::move(made).error();
    out = *std::move(made);
  }
  if (streams == Streams::separate) {
    for (Pipe* pipe : {&in, &err}) {
      auto made = make_pipe();
      if (!made) return std::move(made).error();
      *pipe = *std::move(made);
    }
  }
  ChildSetup setup;
  setup.parent = ::getpid();
  setup.own_group = streams != Streams::console;
  if (streams != Streams::console) {
    setup.in = streams == Streams::separate ? in.read.get() : null.get();
    setup.out = out.write.get();
    setup.err = streams == Streams::separate ? err.write.get() : out.write.get();
  }
  std::vector<std::string> variables;
  std::vector<char*> envp;
  variables.reserve(environment.size());
  envp.reserve(environment.size() + 1);
  for (const auto& [name, value] : environment) {
    variables.push_back(fmt::format("{}={}", name, value));
    envp.push_back(variables.back().data());
  }
  envp.push_back(nullptr);
  std::string shell = "/bin/sh", flag = "-c", text = line;
  std::array<char*, 4> argv = {shell.data(), flag.data(), text.data(), nullptr};

  process.pid_ = ::fork();
  if (process.pid_ < 0) return system_error("fork", line, errno);
  if (process.pid_ == 0) {
    setup.apply();
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  process.is_group_ = setup.own_group;
  if (process.is_group_) {
    ::setpgid(process.pid_, process.pid_);  // whoever of the two comes first
    guard.add(process.pid_);
  }
  process.exit_fd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid_, 0)));
  process.in_ = std::move(in.write);
  process.out_ = std::move(out.read);
  process.err_ = std::move(err.read);
  for (const Fd* fd : {&process.out_, &process.err_}) {
    if (fd->is_open()) set_non_blocking(*fd);
  }
  return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      is_group_(other.is_group_),
      guard_(other.guard_),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      exit_fd_(std::move(other.exit_fd_)) {}

Process::~Process() {
  if (pid_ < 0) return;
  kill();
  wait();
}

int Process::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  if (is_group_) {
    // What the command left behind in its group is no part of any build.
    ::kill(-pid_, SIGKILL);
    guard_->remove(pid_);
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void Process::kill() {
  if (pid_ > 0) ::kill(is_group_ ? -pid_ : pid_, SIGKILL);
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
