#include "engine/app/authors/targets.h"

#include <fmt/format.h>

#include "engine/app/authors/proposals.h"
#include "engine/core/text/did_you_mean.h"
#include "engine/search/variant.h"

namespace evolve {

Result<std::vector<NodeId>> find_targets(const OpenCampaign& opened,
                                         const std::vector<std::string>& names) {
  std::vector<std::string> resolved;
  for (const std::string& name : names) {
    // A path below the campaign's folder may be given without that folder.
    bool is_short = !opened.graph->find_node(name) &&
                    opened.graph->find_node(opened.campaign.work + "/" + name);
    resolved.push_back(is_short ? opened.campaign.work + "/" + name : name);
  }
  for (const std::string& name : resolved) {
    if (opened.graph->find_node(name)) continue;
    std::vector<std::string> known;
    for (int round = 0; round <= opened.campaign.shape.rounds(); ++round) {
      known.push_back(fmt::format("round-{}", round));
    }
    for (int number = 0;
         number <= opened.campaign.shape.rounds() * opened.campaign.shape.variants(); ++number) {
      known.push_back(VariantId(number).text());
    }
    if (auto near = nearest(name, known)) {
      return bad_input(fmt::format("unknown target '{}', did you mean '{}'?", name, *near));
    }
  }
  auto targets = opened.graph->targets(resolved);
  if (!targets) return targets;
  if (auto status = check_none_open(opened.campaign, *opened.graph, *targets); !status)
    return status.error();
  return targets;
}

}  // namespace evolve
