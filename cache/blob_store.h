// The blob store: a folder of read-only files named by their digest, `aa/bbbb…`. What work folders
// hold are further names of these files, or copies where the file system cannot link.
#pragma once

#include <string>

#include "engine/core/ports.h"

namespace evolve::cache {

class FolderBlobStore : public BlobStore {
 public:
  // `folder` is made when the first blob comes; `files` must outlive the store.
  FolderBlobStore(std::string folder, Files& files) : folder_(std::move(folder)), files_(files) {}

  Result<bool> contains(const Digest& digest) override;
  Result<Digest> put_file(const std::string& path) override;
  // A blob whose bytes are not those of its name is removed and counts as absent.
  Result<bool> fetch(const Digest& digest, const std::string& path) override;

 private:
  [[nodiscard]] std::string path_of(const Digest& digest) const;

  std::string folder_;
  Files& files_;
};

}  // namespace evolve::cache
