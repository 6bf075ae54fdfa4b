// Reading archives; the only code that includes libarchive.
#pragma once

#include <map>
#include <string>

#include "engine/core/result.h"

namespace evolve::world {

// Returns the regular files of a tar archive, compressed or not, by name. Refuses one whose files
// are together larger than `most_bytes`.
Result<std::map<std::string, std::string>> read_archive(const std::string& path, size_t most_bytes);

}  // namespace evolve::world
