#include "engine/world/claims.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "engine/world/files.h"

namespace evolve::world {

namespace {

bool is_same_file(int fd, const std::string& path) {
  struct stat open = {}, named = {};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

}  // namespace

std::string FileClaims::path_of(const Digest& action) const {
  return folder_ + "/" + action.hex();
}

Result<bool> FileClaims::claim(const Digest& action) {
  const std::string path = path_of(action);
  constexpr mode_t kMode = 0666;
  while (true) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode));
    if (!fd.is_open() && errno == ENOENT) {
      std::error_code error;
      std::filesystem::create_directories(folder_, error);
      if (error) return system_error("make folder", folder_, error.value());
      continue;
    }
    if (!fd.is_open()) return system_error("open", path, errno);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) return false;
      return system_error("lock", path, errno);
    }
    // Who held it may have removed it after we opened it; then the name is another's, or free.
    if (!is_same_file(fd.get(), path)) continue;
    held_.insert_or_assign(action, std::move(fd));
    return true;
  }
}

void FileClaims::release(const Digest& action) {
  auto held = held_.extract(action);
  // Removed while it is locked: nobody else holds what goes.
  if (held) ::unlink(path_of(action).c_str());
}

}  // namespace evolve::world
