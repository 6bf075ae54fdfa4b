#include "engine/world/disk_files.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "engine/core/crypto/content.h"
#include "engine/world/clock.h"
#include "engine/world/fd.h"
#include "engine/world/files.h"

namespace evolve::world {

namespace {

// Feeds the file's bytes to `sink` in pieces; a regular file is read up to its size in `st`.
template <typename Sink>
Status for_each_piece(int fd, const std::string& path, const struct stat& st, Sink sink) {
  std::array<char, 1 << 16> buffer;
  // Only regular files have a known size.
  off_t left = S_ISREG(st.st_mode) ? st.st_size : -1;
  while (left != 0) {
    ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return system_error("read", path, errno);
    }
    if (count == 0) break;
    sink(std::string_view(buffer.data(), static_cast<size_t>(count)));
    if (left > 0) left = std::max<off_t>(left - count, 0);
  }
  return {};
}

// Copies the file `from`, which is open as `in`, to the new file `to`, and returns the digest of
// its bytes. A large file and its copy share their blocks where the file system can do so.
Result<Digest> copy_bytes(const Fd& in, const std::string& from, const struct stat& st,
                          const std::string& to) {
  constexpr off_t kWorthSharing = 1 << 16;
  const mode_t mode = S_IRUSR | S_IWUSR | (st.st_mode & 0777);
  Fd out(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!out.is_open()) return system_error("create", to, errno);
  const bool is_shared = st.st_size >= kWorthSharing && ::ioctl(out.get(), FICLONE, in.get()) == 0;
  ContentHasher hasher;
  Status status;
  TRY(for_each_piece(in.get(), from, st, [&](std::string_view piece) {
    hasher.add(piece);
    if (status && !is_shared) status = write_all(out.get(), to, piece);
  }));
  if (!status) return std::move(status).error();
  if (!out.reset()) return system_error("close", to, errno);
  return hasher.digest();
}

bool is_absence(int error_number) {
  return error_number == ENOENT || error_number == ENOTDIR;
}

constexpr int64_t kSecond = 1'000'000'000;

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

Digest stamp_of(const struct stat& st) {
  const std::array<int64_t, 5> fields = {static_cast<int64_t>(st.st_dev),
                                         static_cast<int64_t>(st.st_ino), st.st_size,
                                         nanoseconds(st.st_mtim), nanoseconds(st.st_ctim)};
  return digest_of({reinterpret_cast<const char*>(fields.data()), sizeof fields});
}

// Whether a write after `now` might leave the file's stamp unchanged. File times step by at most 10
// ms in Linux. A time in whole seconds suggests a file system without finer times; FAT's steps of
// two seconds are the coarsest.
bool is_too_new(const struct stat& st, int64_t now) {
  const int64_t step = st.st_mtim.tv_nsec == 0 ? 2 * kSecond : kSecond / 100;
  return nanoseconds(st.st_mtim) + step >= now || nanoseconds(st.st_ctim) + step >= now;
}

}  // namespace

Result<std::string> DiskFiles::read(const std::string& path) {
  return read_file(path);
}

Result<std::vector<std::string>> DiskFiles::list(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entries(path, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    names.push_back(entries->path().filename().string());
  }
  if (error) return system_error("read", path, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

Status DiskFiles::write(const std::string& path, std::string_view bytes) {
  return write_file_atomic(path, bytes);
}

Status DiskFiles::remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_error("unlink", path, errno);
  return {};
}

Status DiskFiles::make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return system_error("mkdir", path, error.value());
  return {};
}

Result<std::optional<FileState>> DiskFiles::look(const std::string& path, const FileState* before) {
  struct stat st = {};
  if (before != nullptr && before->stamp != Digest{}) {
    if (::stat(path.c_str(), &st) != 0) {
      if (is_absence(errno)) return std::optional<FileState>{};
      return system_error("stat", path, errno);
    }
    if (stamp_of(st) == before->stamp) return std::optional(*before);
  }
  const int64_t now = SystemClock().file_time();
  // O_NONBLOCK is needed, because opening a pipe must not wait for a writer.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) {
    if (is_absence(errno)) return std::optional<FileState>{};
    return system_error("open", path, errno);
  }
  if (::fstat(fd.get(), &st) != 0) return system_error("stat", path, errno);
  FileState state;
  if (!is_too_new(st, now)) state.stamp = stamp_of(st);
  state.changed = std::max(nanoseconds(st.st_mtim), nanoseconds(st.st_ctim));
  if (S_ISDIR(st.st_mode)) {
    state.content = folder_digest();
    return std::optional(state);
  }
  ContentHasher hasher;
  // Pipes and devices have no content to digest, and some never end.
  if (S_ISREG(st.st_mode)) {
    auto status =
        for_each_piece(fd.get(), path, st, [&](std::string_view piece) { hasher.add(piece); });
    if (!status) return std::move(status).error();
  }
  state.content = hasher.digest();
  return std::optional(state);
}

Result<bool> DiskFiles::place(const std::string& from, const std::string& to, Sharing sharing,
                              const Digest& content) {
  Fd in(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in.is_open() && is_absence(errno)) return false;
  if (!in.is_open()) return system_error("open", from, errno);
  struct stat st = {};
  if (::fstat(in.get(), &st) != 0) return system_error("stat", from, errno);
  const std::string temporary = temporary_name(to);
  Result<Digest> found = Digest{};
  const bool is_name = sharing == Sharing::names && ::link(from.c_str(), temporary.c_str()) == 0;
  if (is_name) {
    ContentHasher hasher;
    auto read =
        for_each_piece(in.get(), from, st, [&](std::string_view piece) { hasher.add(piece); });
    found = read ? Result<Digest>(hasher.digest()) : std::move(read).error();
  } else if (sharing == Sharing::names && errno == ENOSPC) {
    return system_error("link", to, errno);
  } else {
    found = copy_bytes(in, from, st, temporary);
  }
  if (!found || *found != content) {
    ::unlink(temporary.c_str());
    if (!found) return std::move(found).error();
    return false;
  }
  if (::rename(temporary.c_str(), to.c_str()) != 0) {
    int error_number = errno;
    ::unlink(temporary.c_str());
    return system_error("rename", to, error_number);
  }
  if (sharing == Sharing::names) {
    // If both paths are already names of one file, rename(2) does nothing and leaves both.
    ::unlink(temporary.c_str());
    constexpr mode_t kRead = 0444, kExecute = 0111;
    ::chmod(to.c_str(), kRead | (st.st_mode & kExecute));
  }
  return true;
}

}  // namespace evolve::world
