// The targets of a campaign's build, by their names.
#pragma once

#include <string>
#include <vector>

#include "engine/app/session.h"

namespace evolve {

// The nodes that targets name: a path below the campaign's folder may be given without it. Bad
// input: there is no such target, or it needs what a person has yet to propose.
Result<std::vector<NodeId>> find_targets(const Session& session,
                                         const std::vector<std::string>& names);

}  // namespace evolve
