// `evolve run`: round after round, until a rule says that the campaign has done enough.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/app/authors/targets.h"
#include "engine/app/campaign.h"
#include "engine/app/open_campaign.h"
#include "engine/app/results.h"
#include "engine/app/why.h"
#include "engine/cli/build_command.h"
#include "engine/cli/commands.h"
#include "engine/cli/common_options.h"
#include "engine/core/json_text.h"
#include "engine/report/output.h"
#include "engine/search/history/history.h"
#include "engine/search/stop_rule.h"
#include "engine/world/clock.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Returns the share of the roofline that the best variant reaches in its worst case. Nullopt: the
// share is not known for some case.
std::optional<double> roofline_of(const Campaign& campaign, const std::string& best) {
  std::optional<double> out;
  for (const std::string& name : campaign.shape.bench_cases) {
    const auto facts = case_facts(campaign, best, name);
    if (!facts) return std::nullopt;
    const double share = facts->roofline.fraction_of_roofline;
    out = out ? std::min(*out, share) : share;
  }
  return out;
}

// Adds the cost and the tokens of language models so far.
Status add_exchanges(const Campaign& campaign, int round, search::Standpoint& at) {
  TRY_ASSIGN(auto history, history_of(campaign, round));
  for (const search::PastVariant& past : history) {
    if (!past.exchange) continue;
    at.cost_usd += past.exchange->cost_usd;
    at.tokens += static_cast<double>(past.exchange->tokens);
  }
  return {};
}

// Returns the campaign's standpoint after a round.
Result<search::Standpoint> standpoint(OpenCampaign& opened, int round) {
  search::Standpoint out;
  out.rounds = round;
  std::vector<double> scores;
  double resolution = 0;
  for (int one = 1; one <= round; ++one) {
    TRY_ASSIGN(auto selection, selection_of(opened.campaign, one));
    const bool has_best = selection && !selection->survivors.empty();
    scores.push_back(has_best ? selection->survivors.front().score : 0);
    if (!selection) continue;
    resolution = selection->resolution;
    if (one == round && has_best && selection->is_relative) {
      out.speedup = scores.back();
      out.roofline = roofline_of(opened.campaign, selection->survivors.front().variant.id.text());
    }
  }
  out.stagnant = search::stagnant_rounds(scores, resolution);
  if (auto status = add_exchanges(opened.campaign, round, out); !status) return status.error();
  TRY_ASSIGN(auto device,
             opened.state->ledger->use().spent_seconds(opened.campaign.name, "measure"));
  out.device_seconds = device;
  return out;
}

// Whether a round is already built.
Result<bool> is_built(OpenCampaign& opened, int round) {
  TRY(read_graph(opened));
  TRY_ASSIGN(auto targets, find_targets(opened, {fmt::format("round-{}", round)}));
  TRY_ASSIGN(auto runs, Why(opened, targets).would_run());
  return !runs;
}

void tell(const CommonOptions& common, bool is_quiet, int round, const search::Standpoint& at,
          const std::string& why) {
  if (common.json) {
    json event = {{"event", "round"},        {"round", round},
                  {"stagnant", at.stagnant}, {"cost_usd", at.cost_usd},
                  {"tokens", at.tokens},     {"device_seconds", at.device_seconds}};
    if (at.speedup) event["speedup"] = *at.speedup;
    if (at.roofline) event["roofline"] = *at.roofline;
    if (!why.empty()) event["stopped"] = why;
    print_out(json_line(event) + "\n");
    return;
  }
  if (is_quiet) return;
  std::string line = fmt::format("evolve: round-{}: ", round);
  line +=
      at.speedup ? fmt::format("{:.4g}x the seed's speed", *at.speedup) : "the speedup is unknown";
  if (at.roofline) line += fmt::format(", {:.0f} % of the roofline", 100 * *at.roofline);
  if (at.stagnant > 0) line += fmt::format(", not improved for {:.0f} rounds", at.stagnant);
  if (at.cost_usd > 0) line += fmt::format(", {:.2f} usd", at.cost_usd);
  print_out(line + (why.empty() ? "" : "; stops: " + why) + "\n");
}

// Builds round after round, until a rule (engine/search/stop_rule.h) says that the campaign has
// done enough, or the last round is done. Empty `rule_given`: the pipeline's session.until is the
// rule. The rule does not stop at rounds that are already built, because they cost nothing.
Status run_rounds(const CommonOptions& given, const BuildCommand& command,
                  const std::string& rule_given) {
  CommonOptions common = given;
  TRY_ASSIGN(auto opened, open_without_graph(common));
  common.has_told_notices = true;
  common.campaign = reopening(common.campaign, opened.campaign);
  const bool is_given = !rule_given.empty();
  const std::string text = is_given ? rule_given : opened.campaign.shape.pipeline.session.until;
  std::optional<search::StopRule> rule;
  if (!text.empty()) {
    auto parsed = search::StopRule::parse(text);
    if (!parsed) {
      return std::move(parsed).error().within(
          is_given ? "--until" : shown_path(opened.campaign.path) + ": session.until");
    }
    rule = *std::move(parsed);
  }
  world::SystemClock clock;
  const double begin = clock.monotonic_seconds();
  const int last = opened.campaign.shape.rounds();
  for (int round = 1; round <= last; ++round) {
    BuildCommand one = command;
    one.targets = {fmt::format("round-{}", round)};
    TRY(run_build(common, one));
    TRY_ASSIGN(auto at, standpoint(opened, round));
    at.wall_seconds = clock.monotonic_seconds() - begin;
    std::string why;
    if (rule) why = rule->reason(at).value_or("");
    if (!why.empty() && round < last) {
      // Rounds that are already built cost this run nothing, so the rule applies only if the next
      // round is not built yet.
      TRY_ASSIGN(auto is_next_built, is_built(opened, round + 1));
      if (is_next_built) why.clear();
    }
    if (why.empty() && round == last) why = "the last round is done";
    tell(common, command.quiet, round, at, why);
    if (!why.empty()) return {};
  }
  return {};
}

}  // namespace

void add_run(Commands& commands) {
  auto command = commands.add(
      "run", "build round after round, until the stop rule holds or the last round is done");
  auto build = std::make_shared<BuildCommand>();
  auto until = std::make_shared<std::string>();
  command.add(
      "--until", *until,
      "the stop rule, for example 'speedup>=1.3 or stagnant 3 or cost>=5usd'; also 'rounds 5', "
      "'roofline 0.8', 'tokens 1000000', 'device 2h', 'wall 30min' (default: the pipeline's "
      "session.until)");
  add_build_options(commands, command, *build);
  commands.add_common(command);
  commands.on(command, [build, until](const CommonOptions& common) {
    return run_rounds(common, *build, *until);
  });
}

}  // namespace evolve::cli
