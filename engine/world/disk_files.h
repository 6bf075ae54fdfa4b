// The Files port on a POSIX file system: reads, writes, digests, stamps and links.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/ports.h"
#include "engine/core/result.h"

namespace evolve::world {

// The Files port on the real disk. Not synchronised, so each thread uses its own object.
class DiskFiles : public Files {
 public:
  Result<std::string> read(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  Status write(const std::string& path, std::string_view bytes) override;
  Status remove(const std::string& path) override;
  Status make_folders(const std::string& path) override;
  // The stamp is the digest of device, inode, size, mtime and ctime. A file gets no stamp if it was
  // written just before it was read, within the resolution of the file system's clock (git calls
  // such files "racy").
  Result<std::optional<FileState>> look(const std::string& path, const FileState* before) override;
  Result<bool> place(const std::string& from, const std::string& to, Sharing sharing,
                     const Digest& content) override;
};

}  // namespace evolve::world
