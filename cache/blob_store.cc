#include "cache/blob_store.h"

#include <fmt/format.h>
#include <unistd.h>

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

Status FolderBlobStore::put_file(const std::string& path, const Digest& digest) {
  const std::string blob = path_of(digest);
  // Who takes a blob out looks at its bytes; a damaged one goes away then.
  if (::access(blob.c_str(), F_OK) == 0) return {};
  if (auto status = files_.make_folders(blob.substr(0, blob.rfind('/'))); !status) return status;
  return files_.place(path, blob, sharing_);
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
  if (auto placed = files_.place(blob, path, sharing_); !placed) return std::move(placed).error();
  return true;
}

}  // namespace evolve::cache
