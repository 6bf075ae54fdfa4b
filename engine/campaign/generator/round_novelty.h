// The part of a campaign's manifest that turns down near-duplicates: one edge a round, which holds
// the programs of the round's variants against those of all earlier ones
// (engine/search/history/novelty.h).
#pragma once

#include <string>

#include "engine/campaign/generator/round.h"
#include "engine/graph/edge_text.h"

namespace evolve {

// Nothing where the campaign has no such rule.
void write_novelty(const CampaignShape& shape, int round, ManifestText& text);

}  // namespace evolve
