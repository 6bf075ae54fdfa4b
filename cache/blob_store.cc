#include "cache/blob_store.h"

#include <fmt/format.h>
#include <unistd.h>

namespace evolve::cache {

std::string FolderBlobStore::path_of(const Digest& digest) const {
  std::string hex = digest.hex();
  return fmt::format("{}/{}/{}", folder_, hex.substr(0, 2), hex.substr(2));
}

Result<bool> FolderBlobStore::contains(const Digest& digest) {
  return ::access(path_of(digest).c_str(), F_OK) == 0;
}

Status FolderBlobStore::put_file(const std::string& path, const Digest& digest) {
  const std::string blob = path_of(digest);
  // Who takes a blob out looks at its bytes; a damaged one goes away then.
  if (::access(blob.c_str(), F_OK) == 0) return {};
  if (auto status = files_.make_folders(blob.substr(0, blob.rfind('/'))); !status) return status;
  auto placed = files_.place(path, blob, sharing_, digest);
  if (!placed) return std::move(placed).error();
  if (!*placed) return external(fmt::format("'{}' was changed while it was stored", path));
  return {};
}

Result<bool> FolderBlobStore::fetch(const Digest& digest, const std::string& path) {
  const std::string blob = path_of(digest);
  auto placed = files_.place(blob, path, sharing_, digest);
  if (!placed || *placed) return placed;
  // Absent, or damaged: a file that is not what its name says is of no use to anybody.
  if (auto removed = files_.remove(blob); !removed) return std::move(removed).error();
  return false;
}

}  // namespace evolve::cache
