// Where a campaign's files are, as a message has it.
#pragma once

#include <string>

namespace evolve::cli {

// A path of a campaign's from where evolve was started, or absolute where it does not lie below
// that; in one line. REQUIRES: the path is as the campaign has it, from the root that the process
// runs in.
std::string shown_path(const std::string& path);

}  // namespace evolve::cli
