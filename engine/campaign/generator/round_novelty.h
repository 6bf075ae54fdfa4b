// The edges of a campaign's manifest that reject near-duplicates. One edge per round compares the
// programs of the round's variants with those of all earlier variants
// (engine/search/history/novelty.h).
#pragma once

#include <string>

#include "engine/campaign/generator/round.h"
#include "engine/campaign/generator/step_edge.h"

namespace evolve {

// Adds a round's edge. Adds no edge if the campaign has no least distance.
void write_novelty(const CampaignShape& shape, int round, StepText& text);

}  // namespace evolve
