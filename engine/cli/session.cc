#include "engine/cli/session.h"

#include <fmt/format.h>

#include <utility>

#include "engine/cli/lock.h"
#include "engine/cli/progress.h"
#include "engine/cli/proposals.h"
#include "engine/core/did_you_mean.h"

namespace evolve::cli {

Result<Session> open_without_graph(const CommonOptions& common) {
  TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
  if (!common.has_told_notices) {
    for (const std::string& notice : campaign.pipeline.notices) print_warning(notice, common.color);
  }
  TRY_ASSIGN(auto toolchain,
             read_toolchain(campaign.python, campaign.rules + "/requirements.lock"));
  TRY(check_lock(campaign, toolchain));
  std::string warning;
  TRY_ASSIGN(auto state, open_state(campaign.state, Sharing::names, warning));
  if (!warning.empty()) print_warning(warning, common.color);
  state->ledger->set_campaign(campaign.name);
  return Session{std::move(campaign), std::move(toolchain), std::move(state), nullptr};
}

Status read_graph(Session& session) {
  TRY_ASSIGN(auto graph, write_manifest(session.campaign, session.toolchain.versions));
  session.graph = std::move(graph);
  return {};
}

Result<Session> open_session(const CommonOptions& common) {
  auto session = open_without_graph(common);
  if (!session) return session;
  TRY(read_graph(*session));
  return session;
}

Result<std::vector<NodeId>> find_targets(const Session& session,
                                         const std::vector<std::string>& names) {
  std::vector<std::string> resolved;
  for (const std::string& name : names) {
    // A path below the campaign's folder may be given without it.
    bool is_short = !session.graph->find_node(name) &&
                    session.graph->find_node(session.campaign.work + "/" + name);
    resolved.push_back(is_short ? session.campaign.work + "/" + name : name);
  }
  for (const std::string& name : resolved) {
    if (session.graph->find_node(name)) continue;
    std::vector<std::string> known;
    for (int round = 0; round <= session.campaign.shape.rounds; ++round) {
      known.push_back(fmt::format("round-{}", round));
    }
    for (int number = 0; number <= session.campaign.shape.rounds * session.campaign.shape.variants;
         ++number) {
      known.push_back(variant_id(number));
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

}  // namespace evolve::cli
