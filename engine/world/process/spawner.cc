#include "engine/world/process/spawner.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace evolve::world {

namespace {

constexpr unsigned kMostThreads = 4;

// The child's setup before it becomes the command. It makes only calls that are safe after vfork.
struct ChildSetup {
  int in = -1;
  int out = -1;
  int err = -1;
  bool has_console = false;
  pid_t parent = 0;

  void apply() const {
    // If the parent died before prctl, the signal never comes.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    if (!has_console) {
      ::setpgid(0, 0);
      ::dup2(in, 0);
      ::dup2(out, 1);
      ::dup2(err, 2);
    }
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
  }
};

// Writes to stderr why the shell could not be started, by calls that are safe after vfork. A failed
// write cannot be reported to anybody.
void say_why(int error_number) {
  const char* reason = ::strerrordesc_np(error_number);
  for (const char* text :
       {"start '/bin/sh': ", reason == nullptr ? "unknown error" : reason, "\n"}) {
    if (::write(2, text, std::strlen(text)) < 0) return;
  }
}

// Starts a child by vfork(2), so the child borrows our memory and does not copy its page tables.
// posix_spawn(3) does the same inside, but it cannot make the child die with us. Returns the
// process's number, or minus the errno. If the command cannot be started, the child writes the
// reason to stderr.
pid_t spawn(const ChildSetup& setup, const char* program, char* const* words, char* const* shell,
            char* const* variables) {
  // NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork, clang-analyzer-unix.Vfork)
  pid_t pid = ::vfork();
  if (pid < 0) return -errno;
  if (pid > 0) return pid;
  setup.apply();
  if (program != nullptr) ::execve(program, words, variables);
  ::execve(shell[0], shell, variables);
  say_why(errno);
  ::_exit(127);
  // NOLINTEND(clang-analyzer-security.insecureAPI.vfork, clang-analyzer-unix.Vfork)
}

pid_t start_now(const Child& child, GuardProcess& guard) {
  static const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ChildSetup setup;
  setup.in = child.in.is_open() ? child.in.get() : null.get();
  setup.out = child.out.get();
  setup.err = child.err.is_open() ? child.err.get() : child.out.get();
  setup.has_console = child.has_console;
  setup.parent = ::getpid();
  const char* program = child.program.empty() ? nullptr : child.program.c_str();
  pid_t pid = spawn(setup, program, child.words.get(), child.shell.get(), child.variables.get());
  if (pid > 0 && !child.has_console) {
    // The child has set its group already, unless vfork is a fork, as it is under TSan. Then the
    // child may not have done so yet, and an early kill of the group would miss the child.
    ::setpgid(pid, pid);
    guard.add(pid);
  }
  return pid;
}

}  // namespace

WordArray::WordArray(std::vector<std::string> words) : words_(std::move(words)) {
  pointers_.reserve(words_.size() + 1);
  for (std::string& word : words_) pointers_.push_back(word.data());
  pointers_.push_back(nullptr);
}

Spawner::Spawner(GuardProcess& guard) : guard_(guard) {
  const unsigned count = std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
  for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
}

Spawner::~Spawner() {
  {
    std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_job_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::future<pid_t> Spawner::start(Child child) {
  Job job{std::move(child), {}};
  auto started = job.started.get_future();
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  has_job_.notify_one();
  return started;
}

void Spawner::work() {
  while (true) {
    std::unique_lock lock(mutex_);
    has_job_.wait(lock, [this] { return is_ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job.started.set_value(start_now(job.child, guard_));
    // Our copies of the child's ends close here, so the end of its output can be seen from now on.
  }
}

}  // namespace evolve::world
