// The gates in a campaign's manifest, between the stages in which a variant is judged. They keep
// steps from working on a variant that an earlier step rejected (engine/search/judging.h).
#pragma once

#include <string>

#include "engine/campaign/generator/round.h"
#include "engine/campaign/generator/step_edge.h"

namespace evolve {

// These return the path of the report that opens a stage, in a variant's folder. The report says
// only whether the variant reaches the stage. So a step behind the gate runs again if the verdict
// of an earlier report changes, but not if anything else in that report does.
std::string checks_gate(const std::string& folder);
std::string compile_gate(const std::string& folder);

// Adds the edges that make both reports for a variant.
void write_gates(const CampaignShape& shape, int number, StepText& text);

// Adds the edge that fails if the seed does not pass, and returns the edge's output. The failure
// ends the build, because there is nothing to compare variants with.
std::string write_seed_gate(const CampaignShape& shape, StepText& text);

}  // namespace evolve
