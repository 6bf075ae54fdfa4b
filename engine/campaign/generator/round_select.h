// The edges of a campaign's manifest that decide between a round's variants: which are measured,
// and which survive.
#pragma once

#include "engine/campaign/generator/round.h"
#include "engine/campaign/generator/step_edge.h"
#include "engine/campaign/generator/variant_files.h"

namespace evolve {

// In all of these functions, `files` are the files that the round's variants have so far.

// Adds the edge that selects the variants to measure at all: those that are not rejected and not
// far slower in the model, and one of the slower ones as a check of the model.
void write_cut(const CampaignShape& shape, int round, const VariantFiles& files, StepText& text);
// Adds the edge that selects the variants to measure again, among those that are not rejected.
void write_race(const CampaignShape& shape, int round, const VariantFiles& files, StepText& text);
// Adds the edge that selects, by their modelled times, the variants that may survive.
void write_finalists(const CampaignShape& shape, int round, const VariantFiles& files,
                     StepText& text);
// Adds the edge that selects the variants that survive.
void write_select(const CampaignShape& shape, int round, const VariantFiles& files, StepText& text);

}  // namespace evolve
