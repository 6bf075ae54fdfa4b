// The targets of a campaign's build, by their names.
#pragma once

#include <string>
#include <vector>

#include "engine/app/open_campaign.h"

namespace evolve {

// Returns the nodes that the targets name. A path below the campaign's folder may be given without
// that folder. Bad input: there is no such target, or a target needs a proposal that a person has
// yet to make.
Result<std::vector<NodeId>> find_targets(const OpenCampaign& opened,
                                         const std::vector<std::string>& names);

}  // namespace evolve
