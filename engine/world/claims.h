// Claims as locks on the bytes of one file, one byte for each action. The operating system releases
// the locks of a process when the process ends, even if it is killed. The file stays empty.
#pragma once

#include <string>

#include "engine/core/ports.h"
#include "engine/world/fd.h"

namespace evolve::world {

class FileClaims : public Claims {
 public:
  // All processes that share actions must name the same file. The first claim makes the file; its
  // folder must exist.
  explicit FileClaims(std::string path) : path_(std::move(path)) {}

  Result<bool> claim(const Digest& action) override;
  void release(const Digest& action) override;

 private:
  std::string path_;
  Fd file_;
};

}  // namespace evolve::world
