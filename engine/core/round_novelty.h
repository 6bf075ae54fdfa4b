// The part of a campaign's manifest that turns down near-duplicates: one edge a round, which holds
// the programs of the round's variants against those of all earlier ones (engine/search/novelty.h).
#pragma once

#include <string>

#include "engine/core/edge_text.h"
#include "engine/core/round.h"

namespace evolve {

// Nothing where the campaign has no such rule.
void write_novelty(const CampaignShape& shape, int round, ManifestText& text);

// The report that says whether a program is to be compiled, checked and measured, in the folder of
// a variant's case: that it is what was asked for, and where the campaign has that rule, new. The
// seed is what the others are held against, and never a duplicate.
std::string gate_of(const CampaignShape& shape, const std::string& id, const std::string& folder);

}  // namespace evolve
