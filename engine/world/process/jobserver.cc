#include "engine/world/process/jobserver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>

namespace evolve::world {

Result<std::string> Jobserver::find(const std::string& makeflags) {
  std::istringstream words(makeflags);
  std::string fifo;
  bool is_pipe = false, is_first = true;
  for (std::string word; words >> word; is_first = false) {
    // The first word holds make's flag letters. With "n" (a dry run) no jobserver is used.
    if (is_first && !word.starts_with('-') && word.find('n') != std::string::npos)
      return std::string();
    const bool is_old = word.starts_with("--jobserver-fds=");
    if (!is_old && !word.starts_with("--jobserver-auth=")) continue;
    const std::string value = word.substr(word.find('=') + 1);
    int read_fd = -1, write_fd = -1;
    const bool is_pair = std::sscanf(value.c_str(), "%d,%d", &read_fd, &write_fd) == 2;
    if (is_old && !is_pair)
      return bad_input(fmt::format("Invalid file descriptor pair [{}]", value));
    // Negative descriptors mean that there is no jobserver.
    is_pipe = is_pair && read_fd >= 0 && write_fd >= 0;
    fifo = value.starts_with("fifo:") ? value.substr(5) : "";
    if (!is_pair && !value.starts_with("fifo:")) {
      return bad_input("Semaphore mode is not supported on Posix!");
    }
  }
  if (is_pipe) return bad_input("Pipe-based protocol is not supported!");
  return fifo;
}

Result<Jobserver> Jobserver::open(const std::string& fifo) {
  Fd read(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!read.is_open()) {
    return external(fmt::format("Error opening fifo for reading: {}", std::strerror(errno)));
  }
  struct stat st = {};
  if (::fstat(read.get(), &st) != 0 || (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))) {
    return external("Not a fifo path: " + fifo);
  }
  Fd write(::open(fifo.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!write.is_open()) {
    return external(fmt::format("Error opening fifo for writing: {}", std::strerror(errno)));
  }
  return Jobserver(std::move(read), std::move(write));
}

Jobserver::~Jobserver() {
  while (!tokens_.empty()) release();
}

bool Jobserver::acquire() {
  if (has_implicit_) {
    has_implicit_ = false;
    return true;
  }
  char token = 0;
  ssize_t count = 0;
  do {
    count = ::read(read_.get(), &token, 1);
  } while (count < 0 && errno == EINTR);
  if (count != 1) return false;
  tokens_.push_back(token);
  return true;
}

void Jobserver::release() {
  if (tokens_.empty()) {
    has_implicit_ = true;
    return;
  }
  const char token = tokens_.back();
  tokens_.pop_back();
  ssize_t count = 0;
  do {
    count = ::write(write_.get(), &token, 1);
  } while (count < 0 && errno == EINTR);
}

}  // namespace evolve::world
