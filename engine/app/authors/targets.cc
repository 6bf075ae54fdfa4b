#include "engine/app/authors/targets.h"

#include <fmt/format.h>

#include "engine/app/authors/proposals.h"
#include "engine/core/text/did_you_mean.h"
#include "engine/search/variant.h"

namespace evolve {

Result<std::vector<NodeId>> find_targets(const OpenCampaign& session,
                                         const std::vector<std::string>& names) {
  std::vector<std::string> resolved;
  for (const std::string& name : names) {
    // A path below the campaign's folder may be given without that folder.
    bool is_short = !session.graph->find_node(name) &&
                    session.graph->find_node(session.campaign.work + "/" + name);
    resolved.push_back(is_short ? session.campaign.work + "/" + name : name);
  }
  for (const std::string& name : resolved) {
    if (session.graph->find_node(name)) continue;
    std::vector<std::string> known;
    for (int round = 0; round <= session.campaign.shape.rounds(); ++round) {
      known.push_back(fmt::format("round-{}", round));
    }
    for (int number = 0;
         number <= session.campaign.shape.rounds() * session.campaign.shape.variants(); ++number) {
      known.push_back(VariantId(number).text());
    }
    if (auto near = nearest(name, known)) {
      return bad_input(fmt::format("unknown target '{}', did you mean '{}'?", name, *near));
    }
  }
  auto targets = session.graph->targets(resolved);
  if (!targets) return targets;
  if (auto status = check_none_open(session.campaign, *session.graph, *targets); !status)
    return status.error();
  return targets;
}

}  // namespace evolve
