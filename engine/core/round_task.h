// The part of a campaign's manifest that is the task: the steps' sources, the kernel's files, and
// what the judge knows before any candidate comes.
#pragma once

#include "engine/core/edge_text.h"
#include "engine/core/round.h"

namespace evolve {

void write_task(const CampaignShape& shape, ManifestText& text);

}  // namespace evolve
