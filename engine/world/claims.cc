#include "engine/world/claims.h"

#include <fcntl.h>

#include <cerrno>

#include "engine/world/files.h"

namespace evolve::world {

namespace {

// Returns the lock on the byte that stands for an action. Two actions with the same byte would only
// wait for each other.
struct flock lock_of(const Digest& action, short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(action.low >> 1);
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<bool> FileClaims::claim(const Digest& action) {
  if (!file_.is_open()) {
    constexpr mode_t kMode = 0666;
    file_ = Fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode));
    if (!file_.is_open()) return system_error("open", path_, errno);
  }
  struct flock lock = lock_of(action, F_WRLCK);
  // These locks belong to the open file, not to the process, so two FileClaims of one process also
  // exclude each other.
  if (::fcntl(file_.get(), F_OFD_SETLK, &lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return system_error("lock", path_, errno);
}

void FileClaims::release(const Digest& action) {
  struct flock lock = lock_of(action, F_UNLCK);
  if (file_.is_open()) ::fcntl(file_.get(), F_OFD_SETLK, &lock);
}

}  // namespace evolve::world
