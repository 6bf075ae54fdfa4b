// The open campaign, on which most commands work: a campaign with its state folder, toolchain and
// graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/app/campaign.h"
#include "engine/app/options.h"
#include "engine/app/state.h"
#include "engine/app/toolchain.h"
#include "engine/build/scan.h"

namespace evolve {

struct OpenCampaign {
  Campaign campaign;
  Toolchain toolchain;
  std::unique_ptr<State> state;
  std::unique_ptr<Graph> graph;
};

// Opens a campaign, and changes to the project's root. Does not read the graph yet.
Result<OpenCampaign> open_without_graph(const CampaignFlags& common);
// Writes the manifest, and reads it into the campaign's graph.
Status read_graph(OpenCampaign& opened);
// Opens a campaign, and reads its graph.
Result<OpenCampaign> open_for_build(const CampaignFlags& common);

}  // namespace evolve
