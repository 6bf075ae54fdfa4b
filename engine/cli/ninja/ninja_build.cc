#include "engine/cli/ninja/ninja_build.h"

#include <fmt/format.h>

#include <climits>
#include <cstdlib>
#include <utility>

#include "engine/app/elsewhere/remote.h"
#include "engine/app/machine.h"
#include "engine/app/recording.h"
#include "engine/app/snapshots.h"
#include "engine/app/state.h"
#include "engine/build/build.h"
#include "engine/build/scan.h"
#include "engine/build/trace.h"
#include "engine/cli/ninja/ninja_records.h"
#include "engine/ninja/messages.h"
#include "engine/ninja/stats.h"
#include "engine/ninja/status.h"
#include "engine/ninja/times.h"
#include "engine/ninja/tools.h"
#include "engine/world/links.h"
#include "engine/world/process/guard.h"
#include "engine/world/process/runner.h"
#include "engine/world/signals.h"

namespace evolve::cli {

namespace {

// The limit of rebuilds: a manifest that changes whenever it is built would be rebuilt for ever.
constexpr int kMostRebuilds = 100;

template <typename Work>
auto timed(ninja::Stats& stats, const char* name, Work work) {
  const ninja::Stats::Timer timer(stats, name);
  return work();
}

// The build of one manifest, from the search for work to the last line of output.
class NinjaBuild {
 public:
  NinjaBuild(const ninja::Options& options, Graph& graph, State& records,
             world::GuardProcess& guard, const ninja::StatusFormat& format, ninja::Stats& stats,
             Remote* remote)
      : options_(options),
        graph_(graph),
        records_(records),
        guard_(guard),
        format_(format),
        stats_(stats),
        memo_(remote == nullptr ? static_cast<Memo&>(*records.memo) : remote->memo()),
        stored_(
            timed(stats, "snapshot load", [&] { return load(records, options.manifest, graph); })),
        snapshot_(stored_ ? *std::move(stored_) : Snapshot()),
        lookup_(graph, records.files, memo_, *records.ledger, snapshot_,
                {machine_paths(), process_environment()}),
        times_(graph, lookup_, records.files, records.clock) {
    if (remote != nullptr) lookup_.results().use_far_memo();
  }
  ~NinjaBuild() {
    auto saved = save_snapshot(records_, options_.manifest, graph_, snapshot_);
    if (saved && options_.by_times && !options_.dry_run) saved = times_.flush();
    if (!saved) ninja::print_warning(saved.error().message);
  }
  NinjaBuild(const NinjaBuild&) = delete;
  NinjaBuild& operator=(const NinjaBuild&) = delete;

  // Reads the logs that stock ninja left in a folder. Only a build by file times, and the first
  // build in a folder, need these logs.
  Status read_logs() {
    if (stored_ && !options_.by_times) return {};
    const bool has_logs = times_.load();
    if (options_.by_times) lookup_.use(times_);
    return has_logs && !options_.by_times ? times_.adopt_all() : Status{};
  }

  // Brings the manifest up to date. True: one of its files changed, and it must be read again.
  Result<bool> rebuild_manifest(const std::vector<std::string>& its_files) {
    auto node = graph_.find_node(options_.manifest);
    if (!node || !graph_.node(*node).made_by) return false;
    TRY(adopt_generated(*graph_.node(*node).made_by));
    TRY_ASSIGN(auto pending, look({*node}));
    if (pending.empty()) return false;
    TRY_ASSIGN(auto before, contents_of(its_files));
    TRY_ASSIGN(auto summary, run({*node}, pending));
    if (summary.failed > 0) return failed(why_stopped(summary));
    TRY_ASSIGN(auto after, contents_of(its_files));
    return options_.dry_run || before != after;
  }

  int build(const std::vector<NodeId>& targets) {
    for (NodeId target : targets) {
      if (auto status = check_source(target); !status) return fail(status.error());
    }
    auto pending = look(targets);
    if (!pending) return fail(pending.error());
    if (pending->empty()) {
      if (options_.verbosity != ninja::Verbosity::quiet) ninja::print_info("no work to do.");
      return 0;
    }
    use_jobserver();
    auto summary = run(targets, *pending);
    if (!summary && summary.error().code == ErrorCode::interrupted) return fail(summary.error());
    if (!summary) {
      ninja::print_info(fmt::format("build stopped: {}.", ninja::text_of(summary.error())));
      return 1;
    }
    if (summary->failed == 0) return 0;
    ninja::print_info(fmt::format("build stopped: {}.", why_stopped(*summary)));
    return summary->exit_status;
  }

  static int fail(const Error& error) {
    if (error.code == ErrorCode::interrupted) {
      ninja::print_info("build stopped: interrupted by user.");
      return exit_code(error.code);
    }
    ninja::print_error(ninja::text_of(error));
    return 1;
  }

 private:
  Result<std::vector<std::optional<Digest>>> contents_of(const std::vector<std::string>& paths) {
    std::vector<std::optional<Digest>> out;
    for (const std::string& path : paths) {
      TRY_ASSIGN(auto digest, records_.files.digest(path));
      out.push_back(digest);
    }
    return out;
  }

  static std::optional<Snapshot> load(State& records, const std::string& manifest, Graph& graph) {
    std::string warning;
    auto snapshot = load_snapshot(records, manifest, graph, warning);
    if (!warning.empty()) ninja::print_warning(warning);
    return snapshot;
  }

  Result<std::vector<Pending>> look(const std::vector<NodeId>& targets) {
    const ninja::Stats::Timer timer(stats_, "scan");
    auto pending =
        scan(graph_, targets, lookup_, records_.files, *records_.blobs, [&](NodeId dyndep_file) {
          if (options_.explain) ninja::explain_dyndep(graph_.path(dyndep_file));
        });
    if (!pending) return pending;
    for (const Pending& one : *pending) {
      for (NodeId input : graph_.edge(one.edge).inputs) {
        TRY(check_source(input, one.edge));
      }
    }
    return pending;
  }

  // Uses the jobserver of the make, or other tool, that called us.
  void use_jobserver() {
    const char* makeflags = std::getenv("MAKEFLAGS");
    if (makeflags == nullptr || options_.is_jobs_given || options_.dry_run) return;
    auto fifo = world::Jobserver::find(makeflags);
    if (!fifo) {
      ninja::print_warning(
          fmt::format("Ignoring jobserver: {} [{}]", fifo.error().message, makeflags));
      return;
    }
    if (fifo->empty()) return;
    if (options_.verbosity != ninja::Verbosity::quiet) {
      ninja::print_info(fmt::format("Jobserver mode detected: {}", makeflags));
    }
    auto opened = world::Jobserver::open(*fifo);
    if (!opened) {
      ninja::print_error("Could not initialize jobserver: " + opened.error().message);
      return;
    }
    jobserver_.emplace(*std::move(opened));
    has_jobserver_ = true;
  }

  // Checks that a source is there. A source is needed if it is asked for, or if an edge that runs
  // has it as an input; order-only inputs count, too.
  Status check_source(NodeId node, std::optional<EdgeId> needed_by = std::nullopt) {
    if (graph_.node(node).made_by) return {};
    if (needed_by) {
      auto digest = lookup_.files().digest(node, *needed_by);
      return digest ? Status{} : std::move(digest).error();
    }
    TRY_ASSIGN(auto there, lookup_.files().look(node));
    if (there) return {};
    return bad_input(fmt::format("'{}' missing and no known rule to make it", graph_.path(node)));
  }

  Result<BuildSummary> run(const std::vector<NodeId>& targets, std::vector<Pending>& pending) {
    ninja::StatusPrinter printer(graph_, pending, options_, format_, ninja::look_at_terminal(),
                                 records_.clock);
    if (options_.dry_run) return pretend(pending, printer);
    Trace trace(printer, records_.clock);
    Listener& listener = options_.trace.empty() ? static_cast<Listener&>(printer) : trace;
    world::LocalRunner runner(guard_, records_.clock);
    if (jobserver_) runner.use(*std::exchange(jobserver_, std::nullopt));
    BuildOptions building;
    // With a jobserver, its slots are the limit.
    building.jobs = has_jobserver_ ? INT_MAX : options_.jobs;
    building.keep_going = options_.keep_going;
    building.max_load = options_.max_load;
    building.capacity = with_memory(options_.resources);
    building.rules = {.are_strict = false,
                      .keep_depfile = options_.keep_depfile,
                      .keep_rsp = options_.keep_rsp,
                      .machine = machine_name()};
    building.command_environment = process_environment();
    world::DiskLinks links;
    const ninja::Stats::Timer timer(stats_, "build");
    TRY(begin_build(records_, "", options_.arguments, ""));
    auto summary = evolve::build(graph_, targets, lookup_,
                                 {records_.files, *records_.blobs, memo_, *records_.ledger,
                                  *records_.claims, runner, records_.clock, listener, &links},
                                 building, take_hits(pending));
    runner.stop();
    printer.end();
    if (!records_.memo->lost().empty()) ninja::print_warning(records_.memo->lost());
    if (auto ended = end_build(records_, summary); !ended && summary) {
      return std::move(ended).error();
    }
    if (!options_.trace.empty()) {
      TRY(trace.write(records_.files, options_.trace));
      ninja::print_info(fmt::format("{}: {}", options_.trace, trace.summary()));
    }
    return summary;
  }

  // Implements -n: reports what would run as if it ran.
  BuildSummary pretend(const std::vector<Pending>& pending, ninja::StatusPrinter& printer) {
    BuildPlan plan(graph_, std::vector<NodeId>{});
    for (const Pending& one : pending) {
      EdgeEvent event;
      event.edge = one.edge;
      event.outcome = Outcome::ran;
      event.has_console = graph_.edge(one.edge).pool->name == "console";
      printer.started(event);
      printer.finished(event, plan);
    }
    printer.end();
    return {};
  }

  [[nodiscard]] std::string why_stopped(const BuildSummary& summary) const {
    if (options_.keep_going == 0 || summary.failed < options_.keep_going) {
      return "cannot make progress due to previous errors";
    }
    return options_.keep_going > 1 ? "subcommands failed" : "subcommand failed";
  }

  // Accepts the outputs of a generator that has no record yet, if the outputs are no older than
  // their inputs. This is Ninja's own rule for generators.
  Status adopt_generated(EdgeId id) {
    if (options_.by_times || graph_.binding(id, "generator").empty()) return {};
    TRY_ASSIGN(auto known, records_.ledger->last_record(lookup_.keys().record_name(id)));
    if (known) return {};
    for (NodeId input : graph_.edge(id).content_inputs()) {
      auto maker = graph_.node(input).made_by;
      if (!maker || !graph_.edge(*maker).is_phony()) continue;
      TRY(times_.adopt(*maker));
    }
    auto adopted = times_.adopt(id);
    return adopted ? Status{} : std::move(adopted).error();
  }

  const ninja::Options& options_;
  Graph& graph_;
  State& records_;
  world::GuardProcess& guard_;
  const ninja::StatusFormat& format_;
  ninja::Stats& stats_;
  Memo& memo_;
  std::optional<world::Jobserver> jobserver_;  // until the runner has it
  bool has_jobserver_ = false;
  std::optional<Snapshot> stored_;  // moved from; only says whether there was one
  Snapshot snapshot_;
  Lookup lookup_;
  ninja::Times times_;
};

// Brings the manifest up to date, then the targets. Nullopt: the manifest changed, and must be read
// again.
std::optional<int> build_once(NinjaBuild& build, const ninja::Options& options, const Graph& graph,
                              const std::vector<std::string>& its_files) {
  if (auto status = build.read_logs(); !status) return NinjaBuild::fail(status.error());
  auto is_new = build.rebuild_manifest(its_files);
  if (!is_new && is_new.error().code == ErrorCode::interrupted) {
    return NinjaBuild::fail(is_new.error());
  }
  if (!is_new) {
    ninja::print_error(
        fmt::format("rebuilding '{}': {}", options.manifest, ninja::text_of(is_new.error())));
    return 1;
  }
  if (*is_new && options.dry_run) return 0;
  if (*is_new) return std::nullopt;
  auto targets = ninja::find_targets(graph, options.arguments);
  if (!targets) return NinjaBuild::fail(targets.error());
  return build.build(*targets);
}

// Waits for uploads to the remote cache, and reports on the cache. After an interrupt it does not
// wait, because the user wants the end at once.
void tell_of(Remote* remote, const ninja::Options& options, int exit_status) {
  if (remote == nullptr || exit_status == exit_code(ErrorCode::interrupted)) return;
  const RemoteReport report = remote->finish();
  for (const std::string& warning : warnings_of(report)) ninja::print_warning(warning);
  if (options.stats) ninja::print_info(text_of(report));
}

}  // namespace

int build_ninja(const ninja::Options& options, const ReadManifest& read) {
  world::watch_interrupts();
  // The guard starts before any file is open, because it must not hold files that are not its own.
  auto guard = world::GuardProcess::start();
  if (!guard) return NinjaBuild::fail(guard.error());
  auto format = ninja::StatusFormat::parse(
      options.has_status_format ? &options.status_format : nullptr, std::getenv("NINJA_STATUS"));
  if (!format) return ninja::print_fatal(format.error().message);
  world::SystemClock clock;
  ninja::Stats stats(clock);
  std::unique_ptr<State> records;
  std::unique_ptr<Remote> remote;
  for (int round = 0; round < kMostRebuilds; ++round) {
    auto graph = std::make_unique<Graph>();
    std::vector<std::string> its_files;
    if (auto exit_code = timed(stats, ".ninja parse", [&] { return read(*graph, its_files); })) {
      return *exit_code;
    }
    if (!records) {
      auto opened = open_records(*graph);
      if (!opened) return NinjaBuild::fail(opened.error());
      records = *std::move(opened);
      auto found = Remote::open(
          {options.remote_cache, options.remote_write, options.remote_timeout}, *records);
      if (!found) return NinjaBuild::fail(found.error());
      remote = *std::move(found);
    }
    NinjaBuild build(options, *graph, *records, *guard, *format, stats, remote.get());
    if (auto exit_code = build_once(build, options, *graph, its_files)) {
      tell_of(remote.get(), options, *exit_code);
      if (options.stats) stats.print(graph->node_count(), graph->slot_count());
      return *exit_code;
    }
  }
  ninja::print_error(
      fmt::format("manifest '{}' still dirty after {} tries, perhaps system time is not set",
                  options.manifest, kMostRebuilds));
  return 1;
}

}  // namespace evolve::cli
