// The task in a campaign's manifest: the steps' sources, the kernel's files, and the judge's files
// that do not depend on a candidate.
#pragma once

#include <string>

#include "engine/campaign/generator/round.h"
#include "engine/campaign/generator/step_edge.h"

namespace evolve {

void write_task(const CampaignShape& shape, StepText& text);

// Returns the edge that makes a source's canonical form.
EdgeText normalise_edge(const std::string& subject, const std::string& from, const std::string& to,
                        const std::string& flags);
// Returns flags for normalise_edge() that keep the markers of the EVOLVE block.
std::string marker_flags(const CampaignShape& shape);
// Adds the flags of a target to a step that traces candidates. They give the device for which the
// step must lower the candidates.
void tell_target(StepEdge& edge, const Target& target);

}  // namespace evolve
