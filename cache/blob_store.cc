#include "cache/blob_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <tuple>

#include "engine/core/path.h"

namespace evolve::cache {

namespace {

namespace fs = std::filesystem;

constexpr double kDay = 24 * 3600;

// Records the use of a blob as its access time, and keeps its modification time. If this fails, the
// only effect is that gc removes the blob sooner.
void note_use(const std::string& blob) {
  const std::array<timespec, 2> times = {timespec{0, UTIME_NOW}, timespec{0, UTIME_OMIT}};
  (void)::utimensat(AT_FDCWD, blob.c_str(), times.data(), 0);
}

double seconds_of(const timespec& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

std::string FolderBlobStore::path_of(const Digest& digest) const {
  std::string hex = digest.hex();
  return fmt::format("{}/{}/{}", folder_, hex.substr(0, 2), hex.substr(2));
}

Result<bool> FolderBlobStore::contains(const Digest& digest) {
  return ::access(path_of(digest).c_str(), F_OK) == 0;
}

Status FolderBlobStore::put_file(const std::string& path, const Digest& digest) {
  const std::string blob = path_of(digest);
  // The bytes are not checked here: fetch() checks them, and removes a damaged blob.
  if (::access(blob.c_str(), F_OK) == 0) {
    note_use(blob);
    return {};
  }
  TRY(files_.make_folders(folder_of(blob)));
  TRY_ASSIGN(auto placed, files_.place(path, blob, sharing_, digest));
  if (!placed) return external(fmt::format("'{}' changed while it was stored", path));
  return {};
}

Result<bool> FolderBlobStore::fetch(const Digest& digest, const std::string& path) {
  const std::string blob = path_of(digest);
  auto placed = files_.place(blob, path, sharing_, digest);
  if (placed && *placed) note_use(blob);
  if (!placed || *placed) return placed;
  // The blob is absent, or it is damaged and of no use.
  TRY(files_.remove(blob));
  return false;
}

Result<bool> FolderBlobStore::check(const Digest& digest) {
  const std::string blob = path_of(digest);
  struct stat before = {};
  const bool is_there = ::stat(blob.c_str(), &before) == 0;
  TRY_ASSIGN(auto found, files_.digest(blob));
  if (found && *found == digest) {
    // This check is not a use of the blob, so the access time is restored.
    const std::array<timespec, 2> times = {before.st_atim, timespec{0, UTIME_OMIT}};
    if (is_there) (void)::utimensat(AT_FDCWD, blob.c_str(), times.data(), 0);
    return true;
  }
  TRY(files_.remove(blob));
  return false;
}

Result<std::vector<StoredBlob>> FolderBlobStore::list() {
  std::vector<StoredBlob> out;
  std::error_code error;
  if (!fs::exists(folder_, error)) return out;
  const auto now = static_cast<double>(std::time(nullptr));
  fs::recursive_directory_iterator entries(folder_, error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    const std::string path = entries->path().string();
    struct stat st = {};
    if (::stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) continue;
    const std::string folder = entries->path().parent_path().filename().string();
    const auto digest = Digest::from_hex(folder + entries->path().filename().string());
    if (digest) {
      out.push_back({*digest, st.st_size, seconds_of(st.st_atim)});
    } else if (now - seconds_of(st.st_mtim) > kDay) {
      TRY(files_.remove(path));
    }
  }
  if (error) return external(fmt::format("read '{}': {}", folder_, error.message()));
  std::sort(out.begin(), out.end(), [](const StoredBlob& a, const StoredBlob& b) {
    return std::tie(a.digest.high, a.digest.low) < std::tie(b.digest.high, b.digest.low);
  });
  return out;
}

Result<std::vector<Digest>> lost_blobs(const ActionResult& result, BlobStore& blobs) {
  std::vector<Digest> out;
  for (const Digest& output : result.outputs) {
    if (output == missing_digest() || output == folder_digest()) continue;
    TRY_ASSIGN(auto is_there, blobs.contains(output));
    if (!is_there) out.push_back(output);
  }
  return out;
}

}  // namespace evolve::cache
