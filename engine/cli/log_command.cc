// `evolve log`: lists all recorded rounds, or shows one round.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "engine/app/campaign_report.h"
#include "engine/app/open_campaign.h"
#include "engine/cli/commands.h"
#include "engine/core/json_text.h"
#include "engine/report/campaign_text.h"
#include "engine/report/output.h"

namespace evolve::cli {

namespace {

using nlohmann::json;

// Prints the record of a round; `round` 0: of all rounds.
Status run_log(const CommonOptions& common, int round) {
  TRY_ASSIGN(auto opened, open_for_build(common));
  TRY_ASSIGN(auto rounds, rounds_report(opened.campaign.name, opened.state->ledger->rounds()));
  const json& report = rounds;
  if (round == 0) {
    print_out(common.json      ? json_block(report) + "\n"
              : report.empty() ? "no round has been built yet\n"
                               : rounds_text(report));
    return {};
  }
  for (const json& one : report) {
    if (one["round"].get<int>() != round) continue;
    if (one.contains("problem") && !common.json) {
      return external(fmt::format("round {}: {}", round, one["problem"].get<std::string>()));
    }
    print_out(common.json ? json_block(one) + "\n"
                          : round_text(one["selection"], one.value("imported", false)));
    return {};
  }
  return bad_input(fmt::format("round {} is not in the ledger", round), "",
                   fmt::format("evolve build round-{}", round));
}

}  // namespace

void add_log(Commands& commands) {
  auto command = commands.add("log", "list all recorded rounds, or show one round");
  auto round = std::make_shared<std::string>();
  command.add("round", *round, "the round: N or round-N (default: list all rounds)").names("round");
  commands.add_common(command);
  commands.on(command, [round](const CommonOptions& common) -> Status {
    TRY_ASSIGN(auto number, round_number(*round));
    return run_log(common, number);
  });
}

}  // namespace evolve::cli
