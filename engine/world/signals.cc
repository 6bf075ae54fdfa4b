#include "engine/world/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace evolve::world {

namespace {

volatile std::sig_atomic_t interrupted = 0;
std::array<int, 2> self_pipe = {-1, -1};

void on_signal(int) {
  interrupted = 1;
  // A full pipe does no harm: one byte is as good as many.
  [[maybe_unused]] ssize_t written = ::write(self_pipe[1], "", 1);
}

}  // namespace

void watch_interrupts() {
  if (::pipe2(self_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

int interrupt_descriptor() {
  return self_pipe[0];
}
bool was_interrupted() {
  return interrupted != 0;
}

}  // namespace evolve::world
