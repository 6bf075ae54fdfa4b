// The edges of a campaign's manifest that judge and time a variant.
#pragma once

#include <string>

#include "engine/campaign/generator/round.h"
#include "engine/campaign/generator/step_edge.h"
#include "engine/campaign/generator/variant_files.h"

namespace evolve {

// Adds a variant's edges from its kernel.py on, up to its times. Appends its files to `files`.
void write_variant(const CampaignShape& shape, int number, StepText& text, VariantFiles& files);

// Adds the edges that compare large timed cases at some places. Only variants that may survive are
// compared; the seed always is.
void write_values(const CampaignShape& shape, int number, StepText& text, VariantFiles& files);

// Adds the edges of the XLA baseline, if the campaign has one.
void write_baseline(const CampaignShape& shape, StepText& text, VariantFiles& files);

// Whether any timed case is too large to be checked as a whole.
bool has_large_cases(const CampaignShape& shape);

}  // namespace evolve
