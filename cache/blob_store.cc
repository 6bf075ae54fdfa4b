#include "cache/blob_store.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

namespace evolve::cache {

std::string FolderBlobStore::path_of(const Digest& digest) const {
  std::string hex = digest.hex();
  return fmt::format("{}/{}/{}", folder_, hex.substr(0, 2), hex.substr(2));
}

Status FolderBlobStore::place(const std::string& from, const std::string& to, Role role) {
  if (sharing_ == Sharing::names) {
    auto status = files_.link(from, to);
    // Both names of the file are now read-only: who writes it anew makes another file.
    if (status && role == Role::blob) ::chmod(to.c_str(), 0444);
    return status;
  }
  struct stat st = {};
  const bool is_executable = ::stat(from.c_str(), &st) == 0 && (st.st_mode & S_IXUSR) != 0;
  const std::string temporary = fmt::format("{}.tmp{}", to, ::getpid());
  std::error_code error;
  std::filesystem::copy_file(from, temporary, std::filesystem::copy_options::overwrite_existing,
                             error);
  mode_t mode = role == Role::blob ? 0444 : 0644;
  if (is_executable) mode |= 0111;
  if (!error && ::chmod(temporary.c_str(), mode) == 0 &&
      std::rename(temporary.c_str(), to.c_str()) == 0) {
    return {};
  }
  if (!error) error = {errno, std::generic_category()};
  ::unlink(temporary.c_str());
  return external(fmt::format("copy '{}': {}", to, error.message()));
}

Result<bool> FolderBlobStore::contains(const Digest& digest) {
  auto content = files_.digest(path_of(digest));
  if (!content) return std::move(content).error();
  return *content == digest;
}

Result<Digest> FolderBlobStore::put_file(const std::string& path) {
  auto digest = files_.digest(path);
  if (!digest) return std::move(digest).error();
  if (!*digest) return external(fmt::format("'{}' went away while it was stored", path));
  auto is_there = contains(**digest);
  if (!is_there) return std::move(is_there).error();
  if (*is_there) return **digest;
  std::string blob = path_of(**digest);
  auto status = files_.make_folders(blob.substr(0, blob.rfind('/')));
  if (status) status = place(path, blob, Role::blob);
  if (!status) return std::move(status).error();
  return **digest;
}

Result<bool> FolderBlobStore::fetch(const Digest& digest, const std::string& path) {
  auto is_there = contains(digest);
  if (!is_there) return std::move(is_there).error();
  std::string blob = path_of(digest);
  if (!*is_there) {
    // Absent, or damaged: a file that is not what its name says is of no use to anybody.
    if (auto removed = files_.remove(blob); !removed) return std::move(removed).error();
    return false;
  }
  if (auto placed = place(blob, path, Role::file); !placed) return std::move(placed).error();
  return true;
}

}  // namespace evolve::cache
