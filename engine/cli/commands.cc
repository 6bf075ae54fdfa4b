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
#include "engine/cli/state.h"
#include "engine/cli/toolchain.h"
#include "engine/core/did_you_mean.h"
#include "engine/scan.h"
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

// A campaign with its graph and state: what all commands but `clean` work on.
struct Session {
  Campaign campaign;
  Toolchain toolchain;
  std::unique_ptr<State> state;
  std::unique_ptr<Graph> graph;
};

Result<Session> open_session(const CommonOptions& common) {
  auto campaign = open_campaign(common.campaign);
  if (!campaign) return std::move(campaign).error();
  for (const std::string& notice : campaign->pipeline.notices) print_warning(notice, common.color);
  auto toolchain = read_toolchain(campaign->python, campaign->rules + "/requirements.lock");
  if (!toolchain) return std::move(toolchain).error();
  std::string warning;
  auto state = open_state(campaign->state, Sharing::names, warning);
  if (!state) return std::move(state).error();
  if (!warning.empty()) print_warning(warning, common.color);
  auto graph = write_manifest(*campaign, toolchain->versions);
  if (!graph) return std::move(graph).error();
  return Session{*std::move(campaign), *std::move(toolchain), *std::move(state), *std::move(graph)};
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
  return session.graph->targets(resolved);
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

json pending_report(const Session& session, const std::vector<Pending>& pending) {
  json rows = json::array();
  for (const Pending& one : pending) {
    const Graph& graph = *session.graph;
    rows.push_back({{"output", graph.path(graph.edge(one.edge).outputs.front())},
                    {"step", graph.extension(one.edge, "step")},
                    {"subject", graph.extension(one.edge, "subject")},
                    {"certain", one.need == Pending::Need::run},
                    {"reasons", one.reasons}});
  }
  return rows;
}

// Steps with many edges for one reason are one line.
std::string pending_text(const json& rows) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  int possible = 0;
  for (const json& row : rows) {
    if (!row["certain"].get<bool>()) {
      ++possible;
      continue;
    }
    std::string reason =
        fmt::format("{}: {}", row["step"].get<std::string>(),
                    fmt::join(row["reasons"].get<std::vector<std::string>>(), "; "));
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& g) { return g.first == reason; });
    if (group == groups.end()) group = groups.insert(groups.end(), {reason, {}});
    group->second.push_back(row["subject"].get<std::string>());
  }
  std::string out;
  for (const auto& [reason, subjects] : groups) {
    std::string shown = subjects.front();
    if (subjects.size() > 1) shown += fmt::format(" and {} more", subjects.size() - 1);
    out += fmt::format("will run: {} ({})\n", reason, shown);
  }
  if (possible > 0)
    out += fmt::format("may run: {} edges behind those, if what those give is new\n", possible);
  return out;
}

Result<std::vector<Pending>> pending_edges(Session& session, const std::vector<NodeId>& targets) {
  Snapshot snapshot;
  Lookup lookup(*session.graph, session.state->files, *session.state->memo, *session.state->ledger,
                snapshot, {session.campaign.machine(), process_environment()});
  auto pending = scan(*session.graph, targets, lookup, session.state->files, *session.state->blobs);
  // Putting a file back is no work to tell of.
  if (pending)
    std::erase_if(*pending, [](const Pending& one) { return one.need == Pending::Need::restore; });
  return pending;
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
  if (command.dry_run) {
    auto pending = pending_edges(*session, *targets);
    if (!pending) return std::move(pending).error();
    json rows = pending_report(*session, *pending);
    print_out(common.json    ? rows.dump(2) + "\n"
              : rows.empty() ? "nothing to do\n"
                             : pending_text(rows));
    return {};
  }
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
  auto summary = build(*session->graph, *targets, lookup,
                       {state.files, *state.blobs, memo, recorder, *state.claims, runner,
                        state.clock, listener},
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

Status run_why(const CommonOptions& common, const std::string& target) {
  auto session = open_session(common);
  if (!session) return std::move(session).error();
  auto targets =
      find_targets(*session, target.empty() ? std::vector<std::string>{} : std::vector{target});
  if (!targets) return std::move(targets).error();
  auto pending = pending_edges(*session, *targets);
  if (!pending) return std::move(pending).error();
  json rows = pending_report(*session, *pending);
  json report = {{"target", target}, {"pending", rows}, {"last_build", nullptr}};
  auto builds = session->state->ledger->builds(session->campaign.name);
  if (!builds) return std::move(builds).error();
  std::string text =
      rows.empty() ? "up to date: every result is stored under its key\n" : pending_text(rows);
  if (!builds->empty()) {
    const auto& last = builds->front();
    auto edges = session->state->ledger->edges_of_build(last.id);
    if (!edges) return std::move(edges).error();
    json ran = json::array();
    for (const EdgeRecord& edge : *edges) {
      if (edge.outcome == Outcome::hit || edge.outcome == Outcome::joined) continue;
      ran.push_back({{"output", edge.output},
                     {"step", edge.step},
                     {"outcome", outcome_name(edge.outcome)},
                     {"reasons", {edge.reason}},
                     {"subject", edge.output},
                     {"certain", true}});
    }
    report["last_build"] = {{"started", last.started}, {"outcome", last.outcome}, {"edges", ran}};
    text += fmt::format("last build: {}, {}: {} edges ran\n", last.started,
                        last.outcome.empty() ? "did not end" : last.outcome, ran.size());
    std::string lines = pending_text(ran);
    for (size_t at = lines.find("will run: "); at != std::string::npos;
         at = lines.find("will run: ", at)) {
      lines.replace(at, 10, "  ran: ");
    }
    text += lines;
  }
  print_out(common.json ? report.dump(2) + "\n" : text);
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
