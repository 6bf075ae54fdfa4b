// The part of a campaign's manifest that is the task: the steps' sources, the kernel's files, and
// what the judge knows before any candidate comes.
#pragma once

#include <string>

#include "engine/campaign/generator/round.h"
#include "engine/graph/edge_text.h"

namespace evolve {

void write_task(const CampaignShape& shape, ManifestText& text);

// The edge that makes a source's canonical form.
EdgeText normalise_edge(const std::string& subject, const std::string& from, const std::string& to,
                        const std::string& flags);
// Flags of it that keep the marks of the EVOLVE block.
std::string marker_flags(const CampaignShape& shape);

}  // namespace evolve
