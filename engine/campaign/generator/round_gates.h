// The gates in a campaign's manifest, between the stages in which a variant is judged. They keep
// steps from working on a variant that an earlier step rejected (engine/search/judging.h).
#pragma once

#include <string>

#include "engine/campaign/generator/round.h"
#include "engine/campaign/generator/step_edge.h"

namespace evolve {

// These return the report that opens a stage, in a variant's folder. It says only whether the stage
// is reached. So only the verdict of an earlier report can cause a step to run again.
std::string checks_gate(const std::string& folder);
std::string compile_gate(const std::string& folder);

// Adds the edges that make both reports for a variant.
void write_gates(const CampaignShape& shape, int number, StepText& text);

// Adds the edge that fails if the seed does not pass, and returns its output. A build ends there,
// because it has nothing to compare variants with.
std::string write_seed_gate(const CampaignShape& shape, StepText& text);

}  // namespace evolve
