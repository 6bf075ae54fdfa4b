// The Links port on a POSIX file system.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "engine/core/ports.h"

namespace evolve::world {

class DiskLinks : public Links {
 public:
  Result<std::optional<Link>> look(const std::string& path,
                                   std::span<const std::string> others) override;
  Result<bool> make(const std::string& path, const Link& link) override;
};

}  // namespace evolve::world
