// The part of a campaign's manifest that keeps steps from working on a variant that an earlier step
// turned down: gates, between the stages in which it is judged (engine/search/judging.h).
#pragma once

#include <string>

#include "engine/campaign/generator/round.h"
#include "engine/graph/edge_text.h"

namespace evolve {

// The report that opens a stage, in a variant's folder. It says no more than whether the stage is
// reached, so that what an earlier step's report says beside its verdict has nothing done anew.
std::string checks_gate(const std::string& folder);
std::string compile_gate(const std::string& folder);

// The edges that make both for a variant.
void write_gates(const CampaignShape& shape, int number, ManifestText& text);

// The edge that fails where the seed does not pass: a build ends there, since there is nothing that
// variants could be compared with. Returns what it makes.
std::string write_seed_gate(const CampaignShape& shape, ManifestText& text);

}  // namespace evolve
