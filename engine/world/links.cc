#include "engine/world/links.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "engine/world/files.h"

namespace evolve::world {

Result<std::optional<Link>> DiskLinks::look(const std::string& path,
                                            std::span<const std::string> others) {
  struct stat st = {};
  if (::lstat(path.c_str(), &st) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<Link>{};
    return system_error("lstat", path, errno);
  }
  if (S_ISLNK(st.st_mode)) {
    std::error_code error;
    std::string target = std::filesystem::read_symlink(path, error).string();
    if (error) return system_error("readlink", path, error.value());
    return std::optional(Link{std::move(target), false});
  }
  if (!S_ISREG(st.st_mode) || st.st_nlink < 2) return std::optional<Link>{};
  for (const std::string& other : others) {
    struct stat its = {};
    if (::lstat(other.c_str(), &its) == 0 && its.st_dev == st.st_dev && its.st_ino == st.st_ino)
      return std::optional(Link{other, true});
  }
  return std::optional<Link>{};
}

Result<bool> DiskLinks::make(const std::string& path, const Link& link) {
  const std::string temporary = temporary_name(path);
  const int made = link.is_hard ? ::link(link.target.c_str(), temporary.c_str())
                                : ::symlink(link.target.c_str(), temporary.c_str());
  if (made != 0) {
    const bool is_impossible =
        errno == ENOENT || errno == ENOTDIR || errno == EXDEV || errno == EPERM || errno == EMLINK;
    if (link.is_hard && is_impossible) return false;
    return system_error(link.is_hard ? "link" : "symlink", path, errno);
  }
  const int renamed = ::rename(temporary.c_str(), path.c_str());
  const int error_number = errno;
  // rename(2) does nothing if both paths were already names of one file.
  if (renamed != 0 || link.is_hard) ::unlink(temporary.c_str());
  if (renamed == 0) return true;
  if (error_number == EISDIR) return false;
  return system_error("rename", path, error_number);
}

}  // namespace evolve::world
