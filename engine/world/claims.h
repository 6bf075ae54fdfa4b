// Claims by locks on the bytes of one file, a byte an action; the kernel gives them back when their
// process ends, however it ends. The file stays empty.
#pragma once

#include <string>

#include "engine/core/ports.h"
#include "engine/world/fd.h"

namespace evolve::world {

class FileClaims : public Claims {
 public:
  // All who share actions must name the same file, which is made with the first claim; its folder
  // must exist.
  explicit FileClaims(std::string path) : path_(std::move(path)) {}

  Result<bool> claim(const Digest& action) override;
  void release(const Digest& action) override;

 private:
  std::string path_;
  Fd file_;
};

}  // namespace evolve::world
