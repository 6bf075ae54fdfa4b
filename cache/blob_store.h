// The blob store: a folder of read-only files named by their digest, `aa/bbbb…`. The blob of an
// executable file is executable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/ports.h"

namespace evolve::cache {

struct StoredBlob {
  Digest digest;
  int64_t bytes = 0;
  double used = 0;  // time of the last put or fetch, in seconds since 1970
};

class FolderBlobStore : public BlobStore {
 public:
  // `folder` is created when the first blob is put. `files` must outlive the store.
  FolderBlobStore(std::string folder, Files& files, Sharing sharing = Sharing::names)
      : folder_(std::move(folder)), files_(files), sharing_(sharing) {}

  Result<bool> contains(const Digest& digest) override;
  Status put_file(const std::string& path, const Digest& digest) override;
  // A blob whose bytes do not match its name is removed and counts as absent.
  Result<bool> fetch(const Digest& digest, const std::string& path) override;

  // Returns all blobs, sorted by digest. A half-written file is not a blob, and is removed when it
  // is a day old.
  Result<std::vector<StoredBlob>> list();
  // Reads a blob and compares it with its digest. False: the blob was damaged, and check() has
  // removed it.
  Result<bool> check(const Digest& digest);
  Status remove(const Digest& digest) { return files_.remove(path_of(digest)); }
  [[nodiscard]] std::string path_of(const Digest& digest) const;

 private:
  std::string folder_;
  Files& files_;
  Sharing sharing_;
};

// Returns the digests of a result's outputs that are not in the store. Ignores folders and outputs
// that were not written.
Result<std::vector<Digest>> lost_blobs(const ActionResult& result, BlobStore& blobs);

}  // namespace evolve::cache
