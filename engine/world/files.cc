#include "engine/world/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace evolve::world {

namespace {

// Closes a file descriptor at the end of the scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  // Closes now; false where the close reports a late write error.
  bool close() {
    int fd = fd_;
    fd_ = -1;
    return ::close(fd) == 0;
  }

 private:
  int fd_;
};

// Feeds the file's bytes to `sink` in pieces.
template <typename Sink>
Status for_each_piece(int fd, const std::string& path, Sink sink) {
  std::array<char, 1 << 16> buffer;
  while (true) {
    ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return system_error("read", path, errno);
    }
    if (count == 0) return {};
    sink(std::string_view(buffer.data(), static_cast<size_t>(count)));
  }
}

Status write_all(int fd, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return system_error("write", path, errno);
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

// A name beside `path` that no other writer of this or another process uses.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}.tmp{}.{}", path, ::getpid(), counter++);
}

// The call that failed, and errno; false: none did.
struct ReadFailure {
  const char* call = nullptr;
  int error_number = 0;
  explicit operator bool() const { return call != nullptr; }
};

// Reads into a buffer of the file's size at once: manifests are large.
ReadFailure read_whole(const std::string& path, std::string& bytes) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return {"open", errno};
  struct stat st = {};
  if (::fstat(fd.get(), &st) != 0) return {"stat", errno};
  size_t filled = 0;
  bytes.resize(static_cast<size_t>(st.st_size) + 1);
  while (true) {
    if (filled == bytes.size()) bytes.resize(bytes.size() * 2);
    ssize_t count = ::read(fd.get(), bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return {"read", errno};
    if (count == 0) break;
    filled += static_cast<size_t>(count);
  }
  bytes.resize(filled);
  return {};
}

bool holds(const std::string& path, std::string_view bytes) {
  struct stat st = {};
  if (::stat(path.c_str(), &st) != 0 || static_cast<uint64_t>(st.st_size) != bytes.size())
    return false;
  auto old = read_file(path);
  return old && *old == bytes;
}

}  // namespace

Error system_error(std::string_view call, const std::string& path, int error_number) {
  return external(
      fmt::format("{} '{}': {}", call, path, std::generic_category().message(error_number)));
}

Result<std::string> read_file(const std::string& path) {
  std::string bytes;
  if (ReadFailure failure = read_whole(path, bytes)) {
    return system_error(failure.call, path, failure.error_number);
  }
  return bytes;
}

Result<std::string> load_text(const std::string& path) {
  std::string bytes;
  if (ReadFailure failure = read_whole(path, bytes)) {
    return bad_input(std::generic_category().message(failure.error_number));
  }
  return bytes;
}

Status write_file_atomic(const std::string& path, std::string_view bytes) {
  if (holds(path, bytes)) return {};
  std::string temporary = temporary_name(path);
  {
    Descriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (fd.get() < 0) return system_error("create", temporary, errno);
    auto status = write_all(fd.get(), path, bytes);
    if (status && !fd.close()) status = system_error("close", path, errno);
    if (!status) {
      ::unlink(temporary.c_str());
      return status;
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    int error_number = errno;
    ::unlink(temporary.c_str());
    return system_error("rename", path, error_number);
  }
  return {};
}

Result<std::string> DiskFiles::read(const std::string& path) {
  return read_file(path);
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

Result<std::optional<Digest>> DiskFiles::digest(const std::string& path) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<Digest>{};
    return system_error("open", path, errno);
  }
  struct stat st = {};
  if (::fstat(fd.get(), &st) == 0 && S_ISDIR(st.st_mode)) {
    return std::optional<Digest>(folder_digest());
  }
  Hasher hasher;
  auto status = for_each_piece(fd.get(), path, [&](std::string_view piece) { hasher.add(piece); });
  if (!status) return std::move(status).error();
  return std::optional<Digest>(hasher.digest());
}

Status DiskFiles::link(const std::string& from, const std::string& to) {
  std::string temporary = temporary_name(to);
  if (::link(from.c_str(), temporary.c_str()) != 0) {
    if (errno == ENOENT || errno == ENOSPC) return system_error("link", to, errno);
    std::error_code error;
    std::filesystem::copy_file(from, temporary, error);
    if (error) return system_error("copy", to, error.value());
  }
  if (::rename(temporary.c_str(), to.c_str()) != 0) {
    int error_number = errno;
    ::unlink(temporary.c_str());
    return system_error("rename", to, error_number);
  }
  // rename(2) of two names of one file does nothing and leaves both.
  ::unlink(temporary.c_str());
  return {};
}

}  // namespace evolve::world
