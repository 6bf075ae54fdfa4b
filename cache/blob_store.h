// The blob store: a folder of read-only files named by their digest, `aa/bbbb…`; a blob of a file
// that could be executed can be executed.
#pragma once

#include <string>

#include "engine/core/ports.h"

namespace evolve::cache {

// What the files that blobs come from and go to have in common with them.
enum class Sharing {
  // They are further names of the blobs, read-only, or copies where the file system cannot link.
  // For
  // work folders that evolve alone writes.
  names,
  // Nothing but their bytes, which the file system may share. For folders of others, whose commands
  // write into files as they like.
  bytes,
};

class FolderBlobStore : public BlobStore {
 public:
  // `folder` is made when the first blob comes; `files` must outlive the store.
  FolderBlobStore(std::string folder, Files& files, Sharing sharing = Sharing::names)
      : folder_(std::move(folder)), files_(files), sharing_(sharing) {}

  Result<bool> contains(const Digest& digest) override;
  Result<Digest> put_file(const std::string& path) override;
  // A blob whose bytes are not those of its name is removed and counts as absent.
  Result<bool> fetch(const Digest& digest, const std::string& path) override;

 private:
  [[nodiscard]] std::string path_of(const Digest& digest) const;
  // Makes `to` another name or a copy of `from`, with the mode that a blob or a file has there.
  enum class Role { blob, file };
  Status place(const std::string& from, const std::string& to, Role role);

  std::string folder_;
  Files& files_;
  Sharing sharing_;
};

}  // namespace evolve::cache
