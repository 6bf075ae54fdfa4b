#include "engine/cli/build_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "engine/app/authors/plans.h"
#include "engine/app/authors/targets.h"
#include "engine/app/campaign.h"
#include "engine/app/campaign_report.h"
#include "engine/app/elsewhere/build_pods.h"
#include "engine/app/machine.h"
#include "engine/app/models_file.h"
#include "engine/app/open_campaign.h"
#include "engine/app/recording.h"
#include "engine/app/results.h"
#include "engine/app/snapshots.h"
#include "engine/app/up_to_date.h"
#include "engine/app/why.h"
#include "engine/build/build.h"
#include "engine/build/trace.h"
#include "engine/cli/commands.h"
#include "engine/cli/common_options.h"
#include "engine/cli/display.h"
#include "engine/core/json_text.h"
#include "engine/replay/verify.h"
#include "engine/report/campaign_text.h"
#include "engine/report/ci.h"
#include "engine/report/output.h"
#include "engine/report/progress.h"
#include "engine/report/terminal.h"
#include "engine/report/why_text.h"
#include "engine/search/selection/evaluated_record.h"
#include "engine/search/variant.h"
#include "engine/world/process/guard.h"
#include "engine/world/process/runner.h"
#include "engine/world/signals.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Returns the number of the last round among the targets: 3 for {"round-1", "round-3"}. No targets:
// the campaign's last round. 0: no target is a round.
int target_round(const Campaign& campaign, const std::vector<std::string>& targets) {
  if (targets.empty()) return campaign.shape.rounds();
  int last = 0;
  for (int round = 1; round <= campaign.shape.rounds(); ++round) {
    for (const std::string& target : targets) {
      if (target == fmt::format("round-{}", round)) last = round;
    }
  }
  return last;
}

// Fails if the seed fails. Nothing can be compared with such a seed, so this is an error, unlike a
// variant's verdict. A step that was not asked for has no report, and is not a failure.
Status check_seed(const Campaign& campaign) {
  const std::string id = VariantId(0).text();
  const std::string folder = campaign.folder_of(id);
  auto cases = search::read_cases(read_json(campaign.work + "/spec.json"));
  if (!cases) return {};
  auto load = [&](const std::string& case_name, const std::string& file) -> Result<json> {
    json report = read_json(fmt::format("{}/{}/{}", folder, case_name, file));
    return report.is_object() ? report : json{{"verdict", "not_reached"}};
  };
  auto seed = search::read_evaluated(read_json(folder + "/variant.json"), *cases, load);
  if (!seed) return {};
  const bool is_known = !seed->rejection || seed->rejection->kind != "not_reached";
  const auto problem = is_known ? search::problem_of_seed(*seed) : std::nullopt;
  if (!problem) return {};
  Error error = failed(fmt::format("{}: {}", shown_path(campaign.shape.files.seed), *problem));
  error.hint =
      fmt::format("the seed must pass every step; evolve show {} {}", id, arguments_of(campaign));
  return error;
}

ProgressStyle progress_style(const CommonOptions& common, const BuildCommand& command) {
  if (common.json) return ProgressStyle::json;
  if (command.quiet) return ProgressStyle::quiet;
  if (command.is_ci) return ProgressStyle::plain;
  return is_terminal(STDERR_FILENO) ? ProgressStyle::live : ProgressStyle::plain;
}

Result<BuildOptions> options_of(const BuildCommand& command) {
  Resources capacity;
  for (const std::string& text : command.resources) {
    auto resource = parse_resource(text);
    if (!resource) return std::move(resource).error().within("--resource");
    capacity.insert_or_assign(resource->first, resource->second);
  }
  BuildOptions out;
  out.jobs = command.jobs > 0 ? command.jobs : usable_cores();
  out.keep_going = command.keep_going;
  out.capacity = with_memory(std::move(capacity));
  out.command_environment = command_environment();
  out.rules.machine = machine_name();
  return out;
}

void tell(const CommonOptions& common, const BuildCommand& command, json report,
          const std::string& remote) {
  if (common.json) {
    report["event"] = "summary";
    print_out(json_line(report) + "\n");
  } else if (!command.quiet) {
    print_out(build_text(report) + remote);
  }
}

// One build of a campaign, from its first record to the last line of output.
class CampaignBuild {
 public:
  CampaignBuild(const CommonOptions& common, const BuildCommand& command, BuildOptions options,
                OpenCampaign& opened, UpToDate& up_to_date, Remote* remote)
      : common_(common),
        command_(command),
        options_(std::move(options)),
        opened_(opened),
        state_(*opened.state),
        up_to_date_(up_to_date),
        remote_(remote),
        memo_(remote != nullptr ? remote->memo() : static_cast<Memo&>(*state_.memo)),
        progress_(progress_style(common, command), common.color, options_.jobs, state_.clock),
        trace_(progress_, state_.clock),
        traced_(command.trace.empty() ? static_cast<Listener&>(progress_) : trace_),
        ci_(traced_),
        snapshot_(load()),
        lookup_(*opened.graph, state_.files, memo_, *state_.ledger, snapshot_,
                {opened.campaign.machine(), process_environment()}) {
    options_.tells_all = true;
    if (remote != nullptr) lookup_.results().use_far_memo();
    report_ = {{"campaign", opened.campaign.name},
               {"round", target_round(opened.campaign, command.targets)},
               {"steps", json::object()}};
  }

  Status run(const std::vector<NodeId>& targets, world::GuardProcess& guard) {
    auto status = build_targets(targets, guard);
    auto saved = save_snapshot(state_, opened_.campaign.manifest(), *opened_.graph, snapshot_);
    if (!saved) common_.warn(saved.error().message);
    if (!command_.is_ci) return status;
    auto written = write_ci(status ? "" : status.error().message);
    return status ? written : status;
  }

 private:
  Status build_targets(const std::vector<NodeId>& targets, world::GuardProcess& guard) {
    TRY_ASSIGN(auto nodes, BuildPods::open(opened_.campaign, state_));
    TRY(look_at_answers(targets));
    auto begun =
        begin_build(state_, opened_.campaign.name, command_.targets, opened_.toolchain.versions);
    if (!begun) return begun;
    world::LocalRunner local(guard, state_.clock);
    if (nodes) {
      nodes->start(local);
      options_.capacity.merge(nodes->places());
      progress_.watch([&]() -> Elsewhere {
        const k8s::ClusterState now = nodes->state();
        return {now.summary, now.trouble};
      });
    }
    Runner& runner = nodes ? nodes->runner() : local;
    Listener& listener = command_.is_ci ? static_cast<Listener&>(ci_) : traced_;
    auto summary = build(*opened_.graph, targets, lookup_,
                         {state_.files, *state_.blobs, memo_, *state_.ledger, *state_.claims,
                          runner, state_.clock, listener},
                         options_, std::move(hits_));
    progress_.clear();
    progress_.watch({});
    runner.stop();
    if (nodes) tell_of_nodes(*nodes);
    if (!state_.memo->lost().empty()) common_.warn(state_.memo->lost());
    auto ended = end_build(state_, summary);
    if (!command_.trace.empty()) {
      TRY(trace_.write(state_.files, command_.trace));
      print_err(fmt::format("evolve: {}: {}\n", command_.trace, trace_.summary()));
    }
    if (!summary) return std::move(summary).error();
    return ended ? finish(targets, *summary) : ended;
  }

  // Makes the models' file of each recorded round final, so that an edit of that file does not ask
  // for the round's answers again. Warns if other edits may ask for answers again.
  Status look_at_answers(const std::vector<NodeId>& targets) {
    if (opened_.campaign.shape.files.llm.empty()) return {};
    TRY_ASSIGN(auto answered, models_keys(opened_.campaign, state_));
    lookup_.results().confirm(std::move(answered));
    auto pending =
        scan(*opened_.graph, targets, lookup_, state_.files, *state_.blobs, [](NodeId) {});
    if (!pending) return std::move(pending).error();
    TRY_ASSIGN(auto asked, asked_again(opened_.campaign, *opened_.graph, *pending, state_));
    hits_ = take_hits(*pending);
    if (asked.answers > 0) common_.warn(text_of(asked));
    return {};
  }

  Status finish(const std::vector<NodeId>& targets, const BuildSummary& summary) {
    const int round = target_round(opened_.campaign, command_.targets);
    Status status;
    int64_t record = 0;
    if (summary.failed > 0) {
      status = check_seed(opened_.campaign);
      if (status)
        status = failed(fmt::format("build stopped: {} edges failed, {} skipped", summary.failed,
                                    summary.skipped));
    } else {
      auto recorded = record_rounds(opened_.campaign, opened_.toolchain.versions, round,
                                    *opened_.graph, lookup_, state_);
      if (recorded) {
        record = *recorded;
      } else {
        status = std::move(recorded).error();
      }
    }
    auto built = build_report(opened_.campaign, summary, round);
    report_ = json::object();
    if (built) {
      report_ = *std::move(built);
    } else if (status) {
      status = std::move(built).error();
    }
    if (!nodes_report_.is_null()) report_["nodes"] = nodes_report_;
    // After a failure, the best variant in the folder is that of an earlier build.
    if (!status) report_.erase("best");
    const json report = report_;
    tell_of_remote();
    if (!status) return status;
    tell(common_, command_, report_, nodes_text_ + remote_text_);
    TRY(check_seed(opened_.campaign));
    auto noted = up_to_date_.note(targets, lookup_, summary, report, record);
    if (!noted) common_.warn(noted.error().message);
    return {};
  }

  // Loads the snapshot, unless the ledger was lost. In that case all edges must be recorded again,
  // and with a snapshot, edges that are up to date would not be.
  Snapshot load() {
    auto builds = state_.ledger->builds().list(opened_.campaign.name);
    if (!builds || builds->empty()) return {};
    std::string warning;
    auto snapshot = load_snapshot(state_, opened_.campaign.manifest(), *opened_.graph, warning);
    if (!warning.empty()) common_.warn(warning);
    return snapshot ? *std::move(snapshot) : Snapshot();
  }

  void tell_of_nodes(const BuildPods& nodes) {
    for (const std::string& warning : nodes.warnings()) common_.warn(warning);
    // A failure is only a warning here, because a ledger that cannot be written ends the build
    // elsewhere.
    if (auto recorded = state_.ledger->use().record_pools(nodes.use()); !recorded) {
      common_.warn(recorded.error().message);
    }
    nodes_report_ = nodes.report();
    nodes_text_ = nodes.text();
  }

  // Waits for uploads to the remote cache, and adds the cache's report to the build's.
  void tell_of_remote() {
    if (remote_ == nullptr) return;
    const RemoteReport shared = remote_->finish();
    for (const std::string& warning : warnings_of(shared)) common_.warn(warning);
    report_["remote_cache"] = json_of(shared);
    remote_text_ = fmt::format("        {}\n", text_of(shared));
  }

  // Writes the JUnit report and the summary. GitHub names a file in an environment variable, and
  // shows the text that is appended to that file.
  Status write_ci(const std::string& fault) {
    const std::string folder = state_.folder + "/ci";
    TRY(state_.files.make_folders(folder));
    auto written =
        state_.files.write(folder + "/junit.xml", ci_.junit(opened_.campaign.name, fault));
    if (!written) return written;
    const std::string summary = ci_summary(report_, fault);
    if (written = state_.files.write(folder + "/summary.md", summary); !written) return written;
    const char* shown = std::getenv("GITHUB_STEP_SUMMARY");
    if (shown == nullptr || *shown == '\0') return {};
    std::ofstream file(shown, std::ios::app);
    file << summary << std::flush;
    return file ? Status{} : external(fmt::format("write '{}': failed", shown));
  }

  const CommonOptions& common_;
  const BuildCommand& command_;
  BuildOptions options_;
  OpenCampaign& opened_;
  State& state_;
  UpToDate& up_to_date_;
  Remote* remote_;
  Memo& memo_;
  Progress progress_;
  Trace trace_;
  Listener& traced_;  // the trace if one is asked for, else the progress
  CiReport ci_;
  Snapshot snapshot_;
  Lookup lookup_;
  Hits hits_;    // the hits that look_at_answers() found before the build
  json report_;  // if the build stopped early, has only its campaign and round
  std::string remote_text_;
  json nodes_report_;  // null: no nodes were used
  std::string nodes_text_;
};

// Runs the pure steps of a built round again, under other conditions.
Status check_built(const CommonOptions& common, const BuildCommand& command, OpenCampaign opened,
                   const Machine& machine) {
  const int round = target_round(opened.campaign, command.targets);
  if (round == 0) {
    return bad_input("--check-determinism: no complete round was built", "",
                     "evolve build round-1");
  }
  Past past = {std::move(opened.state), opened.campaign.name};
  // The path becomes absolute, because each run has its own current folder.
  past.state->folder = fs::absolute(past.state->folder).lexically_normal().string();
  TRY_ASSIGN(auto recorded, past.load(fmt::format("round-{}", round), 0));
  const std::string folder =
      fmt::format("{}/replay/{}-round-{}-determinism", past.state->folder, past.campaign, round);
  std::error_code error;
  fs::remove_all(folder, error);  // of an earlier check
  TRY_ASSIGN(auto answer, check_determinism(common, recorded, *past.state, machine, folder,
                                            command.check_times, Judge::recorded));
  return print_answer(common, answer);
}

// Prints what a build of the targets would do.
Status tell_pending(const CommonOptions& common, OpenCampaign& opened,
                    const std::vector<NodeId>& targets) {
  Why why(opened, targets);
  TRY_ASSIGN(auto pending, why.pending());
  TRY_ASSIGN(auto asked, why.asked_again());
  if (!asked.empty()) common.warn(asked);
  print_result(common, pending_json(pending),
               pending.empty() ? "nothing to do\n" : pending_text(pending));
  return {};
}

// The plans that must be decided on before a build, and the options that open its campaign again.
struct BuildStart {
  UndecidedPlans plans;
  CampaignOptions campaign;
};

Result<BuildStart> done(Status status) {
  if (!status) return std::move(status).error();
  return BuildStart();
}

// Builds, unless the build needs plans of rounds after `asked` on which nobody has decided. In that
// case builds nothing, and returns those plans.
Result<BuildStart> build_once(const CommonOptions& common, const BuildCommand& command, int asked) {
  TRY_ASSIGN(auto options, options_of(command));
  // The guard starts before any file is open, because it must not hold files that are not its own.
  world::watch_interrupts();
  TRY_ASSIGN(auto guard, world::GuardProcess::start());
  TRY_ASSIGN(auto opened, open_without_graph(common));
  TRY_ASSIGN(auto remote, Remote::open(command.remote, *opened.state));
  UpToDate up_to_date(opened, command.targets);
  // The note of the last build has only the outcome, and these options ask for more.
  if (!command.dry_run && !common.json && !command.is_ci && command.trace.empty() &&
      command.check_times == 0) {
    TRY_ASSIGN(auto report, up_to_date.report(common));
    if (report) {
      tell(common, command, *report, "");
      return BuildStart();
    }
  }
  up_to_date.look_at_sources();
  if (auto status = read_graph(opened); !status) return status.error();
  TRY_ASSIGN(auto targets, find_targets(opened, command.targets));
  if (command.dry_run) return done(tell_pending(common, opened, targets));
  auto plans = undecided_plans(opened.campaign, *opened.graph, targets, asked);
  if (plans.round > 0)
    return BuildStart{std::move(plans), reopening(common.campaign, opened.campaign)};
  if (!opened.campaign.shape.is_sandboxed) {
    common.warn("--unsafe-no-sandbox: the variants' code runs without the sandbox");
  }
  const int jobs = options.jobs;
  auto status = CampaignBuild(common, command, std::move(options), opened, up_to_date, remote.get())
                    .run(targets, guard);
  if (!status || command.check_times == 0) return done(status);
  return done(
      check_built(common, command, std::move(opened), {guard, jobs, rerun_display(common)}));
}

}  // namespace

Status run_build(const CommonOptions& given, const BuildCommand& asked) {
  CommonOptions common = given;
  BuildCommand command = asked;
  // The path becomes absolute, because opening the campaign changes to the project's root.
  if (!command.trace.empty()) command.trace = fs::absolute(command.trace).string();
  for (int round = 0;;) {
    TRY_ASSIGN(auto before, build_once(common, command, round));
    if (before.plans.round == 0) return {};
    // Plans that a person decides on are made before the rest, round by round.
    round = before.plans.round;
    common.campaign = before.campaign;
    common.has_told_notices = true;
    BuildCommand plans = command;
    plans.targets = before.plans.files;
    plans.trace.clear();
    plans.check_times = 0;
    TRY(build_once(common, plans, round));
    TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
    TRY(check_decided(campaign, before.plans));
  }
}

void add_build_options(Commands& commands, Parser command, BuildCommand& build) {
  Commands::add_jobs(command, build.jobs);
  command
      .add("-k", build.keep_going,
           "keep going until this many steps fail; 0 means no limit (default: 1)")
      .between(0, 1'000'000);
  commands.add_local(command);
  command.add("-q,--quiet", build.quiet, "do not print progress or a summary");
  command
      .add("--resource", build.resources,
           "a resource that running steps share, for example memory=16GiB or tpu=4; may be "
           "given several times")
      .repeated();
  command.add("--ci", build.is_ci,
              "print plain lines, and write junit.xml and summary.md into the folder ci of "
              "the state folder");
  command.add("--remote-cache", build.remote.url,
              "take results from this remote cache: a URL of Bazel's HTTP protocol, or "
              "gs://bucket (default: $EVOLVE_REMOTE_CACHE)");
  command.add("--remote-write", build.remote.writes, "also store results in the remote cache");
  command
      .add("--remote-timeout", build.remote.timeout_seconds,
           "stop asking the remote cache after this many seconds without an answer (default: 10)")
      .between(1, 3600);
}

void add_build(Commands& commands) {
  auto command = commands.add("build", "build a round, a variant or a file, and what it needs");
  auto build = std::make_shared<BuildCommand>();
  command
      .add("target", build->targets,
           "what to build: round-N, a variant such as v0007, or a file (default: the last round)")
      .names("target");
  command.add("-n,--dry-run", build->dry_run, "print what would run, but run nothing");
  command.add("--trace", build->trace,
              "write the build's timeline to this file, in Chrome's trace format");
  Commands::add_determinism(command, build->check_times, "after the build, ");
  add_build_options(commands, command, *build);
  commands.add_common(command);
  commands.on(command, [build](const CommonOptions& common) { return run_build(common, *build); });
}

}  // namespace evolve::cli
