#include "engine/cli/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <thread>

#include "engine/build.h"
#include "engine/cli/machine.h"
#include "engine/cli/progress.h"
#include "engine/cli/recorder.h"
#include "engine/cli/report.h"
#include "engine/cli/session.h"
#include "engine/cli/why.h"
#include "engine/core/did_you_mean.h"
#include "engine/trace.h"
#include "engine/world/guard.h"
#include "engine/world/runner.h"
#include "engine/world/signals.h"
#include "engine/world/terminal.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

void print_out(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

// The last round among the targets: "round-3" of {"round-1", "round-3"}; the campaign's last for
// none.
int target_round(const Campaign& campaign, const std::vector<std::string>& targets) {
  if (targets.empty()) return campaign.shape.rounds;
  int last = 0;
  for (int round = 1; round <= campaign.shape.rounds; ++round) {
    for (const std::string& target : targets) {
      if (target == fmt::format("round-{}", round)) last = round;
    }
  }
  return last;
}

// A seed that fails has nothing to be compared with: that is an error, unlike a variant's verdict.
Status check_seed(const Campaign& campaign) {
  const std::string seed = variant_id(0);
  for (const auto& [step, cases] : {std::pair("lower", campaign.shape.check_cases),
                                    std::pair("lower", campaign.shape.bench_cases),
                                    std::pair("check", campaign.shape.check_cases),
                                    std::pair("compile", campaign.shape.bench_cases),
                                    std::pair("facts", campaign.shape.bench_cases)}) {
    for (const std::string& name : cases) {
      json report = read_json(fmt::format("{}/{}/{}.json", campaign.folder_of(seed), name, step));
      if (!report.is_object() || report.value("verdict", "") == "ok") continue;
      Error error =
          failed(fmt::format("{}: {}: case '{}': {}: {}", campaign.shape.seed, step, name,
                             report.value("kind", "rejected"), report.value("reason", "")));
      error.hint = fmt::format("the seed must pass every step; evolve show {}", seed);
      return error;
    }
  }
  return {};
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

using Tallies = std::map<std::string, cache::Tally>;

Tallies tallies_of(const BuildSummary& summary) {
  Tallies out;
  for (const auto& [step, its] : summary.by_step) {
    auto count = [&outcomes = its.outcomes](Outcome outcome) {
      auto found = outcomes.find(outcome);
      return found == outcomes.end() ? 0 : int64_t{found->second};
    };
    out[step] = {count(Outcome::ran), count(Outcome::hit) + count(Outcome::joined),
                 count(Outcome::failed), its.spent_seconds, its.saved_seconds};
  }
  return out;
}

ProgressStyle progress_style(const CommonOptions& common, const BuildCommand& command) {
  if (common.json) return ProgressStyle::json;
  if (command.quiet) return ProgressStyle::quiet;
  return world::is_terminal(STDERR_FILENO) ? ProgressStyle::live : ProgressStyle::plain;
}

Status finish_build(const CommonOptions& common, const BuildCommand& command, Session& session,
                    const BuildSummary& summary, Lookup& lookup, const Recorder& recorder,
                    Remote* remote) {
  // What is on its way there arrives before the end.
  const auto shared = remote == nullptr ? std::nullopt : std::optional(remote->finish());
  if (shared) {
    for (const std::string& warning : warnings_of(*shared)) print_warning(warning, common.color);
  }
  if (summary.failed > 0) {
    return failed(
        fmt::format("build stopped: {} edges failed, {} skipped", summary.failed, summary.skipped));
  }
  int round = target_round(session.campaign, command.targets);
  auto recorded = record_rounds(session.campaign, session.toolchain.versions, round, *session.graph,
                                lookup, recorder, *session.state);
  if (!recorded) return recorded;
  json report = build_report(session.campaign, summary, round);
  if (shared) report["remote_cache"] = json_of(*shared);
  if (common.json) {
    report["event"] = "summary";
    print_out(report.dump() + "\n");
  } else if (!command.quiet) {
    print_out(build_text(report));
    if (shared) print_out(fmt::format("        {}\n", text_of(*shared)));
  }
  return check_seed(session.campaign);
}

}  // namespace

Status run_build(const CommonOptions& common, const BuildCommand& command) {
  // The session changes to the project's root.
  const std::string trace_path = command.trace.empty() ? "" : fs::absolute(command.trace).string();
  Resources capacity;
  for (const std::string& text : command.resources) {
    auto resource = parse_resource(text);
    if (!resource) return std::move(resource).error().within("--resource");
    capacity.insert_or_assign(resource->first, resource->second);
  }
  // Before any file is open: the guard must not hold what is not its own.
  world::watch_interrupts();
  auto guard = world::Guard::start();
  if (!guard) return std::move(guard).error();
  auto session = open_session(common);
  if (!session) return std::move(session).error();
  auto targets = find_targets(*session, command.targets);
  if (!targets) return std::move(targets).error();
  if (command.dry_run) return tell_pending(common, *session, *targets);
  State& state = *session->state;
  auto remote = Remote::open(command.remote, state);
  if (!remote) return std::move(remote).error();
  auto begun =
      state.ledger->begin_build({0, state.clock.utc(), session->campaign.name,
                                 joined(command.targets), session->toolchain.versions, "", 0, 0});
  if (!begun) return begun;
  BuildOptions options;
  options.jobs = command.jobs > 0 ? command.jobs : usable_cores();
  options.keep_going = command.keep_going;
  options.capacity = with_memory(std::move(capacity));
  options.command_environment = command_environment();
  options.rules.machine = machine_name();
  world::LocalRunner runner(*guard, state.clock);
  Progress progress(progress_style(common, command), common.color, options.jobs, state.clock);
  Trace trace(progress, state.clock);
  Listener& listener = command.trace.empty() ? static_cast<Listener&>(progress) : trace;
  Recorder recorder(*state.ledger);
  Snapshot snapshot;
  Memo& memo = *remote ? (*remote)->memo() : static_cast<Memo&>(*state.memo);
  Lookup lookup(*session->graph, state.files, memo, *state.ledger, snapshot,
                {session->campaign.machine(), process_environment()});
  if (*remote) lookup.use_far_memo();
  auto summary = build(
      *session->graph, *targets, lookup,
      {state.files, *state.blobs, memo, recorder, *state.claims, runner, state.clock, listener},
      options);
  progress.clear();
  runner.stop();
  std::string outcome =
      !summary ? (summary.error().code == ErrorCode::interrupted ? "interrupted" : "failed")
               : (summary->failed > 0 ? "failed" : "done");
  auto ended = state.ledger->end_build(outcome, summary ? tallies_of(*summary) : Tallies{});
  if (!trace_path.empty()) {
    if (auto written = trace.write(state.files, trace_path); !written) return written;
    std::fputs(fmt::format("evolve: {}: {}\n", command.trace, trace.summary()).c_str(), stderr);
  }
  if (!summary) return std::move(summary).error();
  if (!ended) return ended;
  return finish_build(common, command, *session, *summary, lookup, recorder, remote->get());
}

Status run_show(const CommonOptions& common, const std::string& variant) {
  auto session = open_session(common);
  if (!session) return std::move(session).error();
  const Campaign& campaign = session->campaign;
  if (campaign.folder_of(variant).empty()) {
    std::vector<std::string> known = {"xla"};
    for (int number = 0; number <= campaign.shape.rounds * campaign.shape.variants; ++number) {
      known.push_back(variant_id(number));
    }
    auto near = nearest(variant, known);
    return bad_input(fmt::format("unknown variant '{}'{}", variant,
                                 near ? fmt::format(", did you mean '{}'?", *near)
                                      : fmt::format(": there are v0000 to {}", known.back())));
  }
  std::error_code error;
  if (!fs::exists(campaign.folder_of(variant), error)) {
    return bad_input(fmt::format("variant '{}' was not built yet", variant), "",
                     fmt::format("evolve build {}", variant == "xla" ? "round-0" : variant));
  }
  auto report = variant_report(campaign, variant, *session->state->ledger);
  if (!report) return std::move(report).error();
  print_out(common.json ? report->dump(2) + "\n" : variant_text(*report));
  return {};
}

Status run_best(const CommonOptions& common, const std::string& out) {
  std::string out_path = out.empty() ? "" : fs::absolute(out).string();
  auto campaign = open_campaign(common.campaign);
  if (!campaign) return std::move(campaign).error();
  int round = last_round(*campaign);
  json selection = selection_of(*campaign, round);
  if (!selection.is_object() || !selection.contains("best") || !selection["best"].is_object()) {
    return bad_input("no round was built yet", "", "evolve build round-1");
  }
  json best = selection["best"];
  std::string variant = best.value("variant", "");
  auto kernel = world::read_file(campaign->folder_of(variant) + "/kernel.py");
  if (!kernel) return std::move(kernel).error();
  if (!out_path.empty()) {
    if (auto status = world::write_file_atomic(out_path, *kernel); !status) return status;
  }
  if (common.json) {
    best["kernel"] = *kernel;
    best["round_built"] = round;
    print_out(best.dump(2) + "\n");
  } else if (out_path.empty()) {
    print_out(*kernel);
  }
  std::string line = fmt::format("evolve: best of {} rounds: {}", round, variant);
  for (const std::string& name : campaign->shape.bench_cases) {
    if (auto time = case_time(*campaign, variant, name)) {
      line += fmt::format(" · {} {} {}", name, duration(time->seconds), time->kind);
    }
  }
  std::fputs((line + "\n").c_str(), stderr);
  return {};
}

Status run_log(const CommonOptions& common, int round) {
  auto session = open_session(common);
  if (!session) return std::move(session).error();
  auto rounds = rounds_report(session->campaign.name, *session->state->ledger);
  if (!rounds) return std::move(rounds).error();
  const json& report = *rounds;
  if (round == 0) {
    print_out(common.json      ? report.dump(2) + "\n"
              : report.empty() ? "no round was built yet\n"
                               : rounds_text(report));
    return {};
  }
  for (const json& one : report) {
    if (one["round"].get<int>() != round) continue;
    print_out(common.json ? one.dump(2) + "\n" : round_text(one["selection"]));
    return {};
  }
  return bad_input(fmt::format("round {} is not in the ledger", round), "",
                   fmt::format("evolve build round-{}", round));
}

Status run_clean(const CommonOptions& common, bool all, bool dry_run) {
  auto campaign = open_campaign(common.campaign);
  if (!campaign) return std::move(campaign).error();
  std::vector<std::string> paths = {campaign->work};
  if (all) {
    for (const char* name : {"memo.db", "memo.db-wal", "memo.db-shm", "blobs"}) {
      paths.push_back(campaign->state + "/" + name);
    }
  }
  json removed = json::array();
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    if (!dry_run) fs::remove_all(path, error);
    if (error) return world::system_error("remove", path, error.value());
    removed.push_back(path);
  }
  if (common.json) {
    print_out(json{{"removed", removed}, {"dry_run", dry_run}}.dump(2) + "\n");
    return {};
  }
  for (const json& path : removed) {
    print_out(
        fmt::format("{} {}\n", dry_run ? "would remove" : "removed", path.get<std::string>()));
  }
  if (removed.empty()) print_out("nothing to clean\n");
  return {};
}

}  // namespace evolve::cli
