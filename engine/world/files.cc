#include "engine/world/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "engine/world/fd.h"

namespace evolve::world {

namespace {

// The call that failed, and its errno; as a boolean, whether a call failed.
struct ReadFailure {
  const char* call = nullptr;
  int error_number = 0;
  explicit operator bool() const { return call != nullptr; }
};

// Reads the file into a buffer of its full size, because manifests are large.
ReadFailure read_whole(const std::string& path, std::string& bytes) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
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

bool is_there(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
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

std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}.tmp{}.{}", path, ::getpid(), counter++);
}

Status write_file_atomic(const std::string& path, std::string_view bytes) {
  struct stat st = {};
  const bool exists = ::stat(path.c_str(), &st) == 0;
  // A device or a pipe must be written to: a rename would put a file in its place.
  if (exists && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
    Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (fd.get() < 0) return system_error("open", path, errno);
    TRY(write_all(fd.get(), path, bytes));
    return fd.reset() ? Status{} : system_error("close", path, errno);
  }
  if (holds(path, bytes)) return {};
  std::string temporary = temporary_name(path);
  {
    Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (fd.get() < 0) return system_error("create", temporary, errno);
    auto status = write_all(fd.get(), path, bytes);
    if (status && !fd.reset()) status = system_error("close", path, errno);
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

}  // namespace evolve::world
