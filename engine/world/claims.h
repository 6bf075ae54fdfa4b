// Claims by locks on files, which the kernel gives back when their process ends, however it ends.
#pragma once

#include <string>
#include <unordered_map>

#include "engine/core/ports.h"
#include "engine/world/fd.h"

namespace evolve::world {

class FileClaims : public Claims {
 public:
  // `folder` is made with the first claim; all who claim the same actions must name the same one.
  explicit FileClaims(std::string folder) : folder_(std::move(folder)) {}

  Result<bool> claim(const Digest& action) override;
  void release(const Digest& action) override;

 private:
  [[nodiscard]] std::string path_of(const Digest& action) const;

  std::string folder_;
  std::unordered_map<Digest, Fd> held_;
};

}  // namespace evolve::world
