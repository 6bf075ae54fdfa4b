#include "engine/app/open_campaign.h"

#include <utility>

#include "engine/app/lock.h"

namespace evolve {

Result<OpenCampaign> open_without_graph(const CampaignFlags& common) {
  TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
  if (!common.has_told_notices) {
    for (const std::string& notice : campaign.shape.pipeline.notices) common.warn(notice);
  }
  TRY_ASSIGN(auto toolchain, read_toolchain(campaign.python, campaign.rules));
  TRY(check_lock(campaign, toolchain));
  std::string warning;
  TRY_ASSIGN(auto state, open_state(campaign.state, Sharing::names, warning));
  if (!warning.empty()) common.warn(warning);
  state->ledger->set_campaign(campaign.name);
  return OpenCampaign{std::move(campaign), std::move(toolchain), std::move(state), nullptr};
}

Status read_graph(OpenCampaign& opened) {
  TRY_ASSIGN(auto graph, write_manifest(opened.campaign, opened.toolchain.versions));
  opened.graph = std::move(graph);
  return {};
}

Result<OpenCampaign> open_for_build(const CampaignFlags& common) {
  auto opened = open_without_graph(common);
  if (!opened) return opened;
  TRY(read_graph(*opened));
  return opened;
}

}  // namespace evolve
