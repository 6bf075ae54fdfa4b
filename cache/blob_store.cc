#include "cache/blob_store.h"

#include <fmt/format.h>
#include <sys/stat.h>

namespace evolve::cache {

std::string FolderBlobStore::path_of(const Digest& digest) const {
  std::string hex = digest.hex();
  return fmt::format("{}/{}/{}", folder_, hex.substr(0, 2), hex.substr(2));
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
  if (status) status = files_.link(path, blob);
  if (!status) return std::move(status).error();
  // Both names of the file are now read-only: who writes it anew makes another file.
  ::chmod(blob.c_str(), 0444);
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
  if (auto linked = files_.link(blob, path); !linked) return std::move(linked).error();
  return true;
}

}  // namespace evolve::cache
