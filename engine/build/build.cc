#include "engine/build/build.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "engine/build/collect.h"
#include "engine/build/command.h"
#include "engine/build/dyndeps.h"
#include "engine/build/outputs.h"
#include "engine/build/payments.h"

namespace evolve {

namespace {

constexpr double kTickSeconds = 0.1;
constexpr int kLookUpsAtOnce = 16;
// The minimum cost of a command in seconds. Shorter commands count as if they took this long.
constexpr double kShortSeconds = 1;
// The maximum number of reruns of a command whose inputs change each time that it runs.
constexpr int kMostReruns = 3;
// A command that ends with this status was interrupted by the user, for Ninja and for shells.
constexpr int kInterruptStatus = 130;

// Draws a random cost for an edge. Costs decide the order of edges, so the edges get a random
// order.
double drawn_cost(uint64_t seed, EdgeId id) {
  const Digest drawn = digest_of(fmt::format("{} {}", seed, index(id)));
  return kShortSeconds * static_cast<double>(1 + drawn.low % 1000);
}

class Build {
 public:
  Build(Graph& graph, const std::vector<NodeId>& targets, Lookup& lookup, const BuildPorts& ports,
        const BuildOptions& options, Hits hits)
      : graph_(graph),
        lookup_(lookup),
        ports_(ports),
        options_(options),
        hits_(std::move(hits)),
        plan_(
            graph, targets,
            [&lookup, &options](EdgeId id) -> std::optional<double> {
              if (options.order_seed != 0) return drawn_cost(options.order_seed, id);
              auto settled = lookup.snapshot().edge(id);
              if (!settled) return std::nullopt;
              // The order of very short commands must not depend on how short they are.
              return std::max<double>(settled->seconds, kShortSeconds);
            },
            options.capacity),
        dyndeps_(graph, plan_, ports.files,
                 [&ports](NodeId file) { ports.listener.dyndep_loaded(file); }),
        collector_(graph, lookup, ports.files, ports.links, ports.blobs, ports.clock,
                   options.rules),
        outputs_(graph, lookup, ports.files, ports.links, ports.blobs, options.rules),
        payments_(ports.claims) {}

  Result<BuildSummary> run() {
    double start = ports_.clock.monotonic_seconds();
    ports_.listener.planned(graph_, plan_);
    Status status = loop();
    if (!status) {
      ports_.runner.stop();
      for (const Status& after : {remove_half_written(), ports_.ledger.flush()}) {
        if (!after) return Error(after.error());
      }
      return std::move(status).error();
    }
    summary_.skipped = static_cast<int>(plan_.count(EdgeState::skipped));
    summary_.seconds = ports_.clock.monotonic_seconds() - start;
    return summary_;
  }

 private:
  // An edge between its look-up and its end.
  struct Running {
    LookedUpEdge finding;
    std::vector<Reason> reasons;
    int64_t memo_version = 0;    // at the look-up
    int failures = 0;            // of its command so far
    std::string earlier_output;  // of these failures
    bool is_elsewhere = false;   // another machine runs it
    FileTable::Since since;      // the moment after which its inputs must not have changed
  };
  // An edge whose inputs were changed while its command ran.
  struct Changed {
    int times = 0;
    std::string output;  // warnings about it
  };

  Status loop() {
    while (true) {
      TRY(read_version());
      TRY(read_dyndep_sources());
      // Looks up a few edges at a time, so that commands run while the other edges are looked up.
      for (int i = 0; i < kLookUpsAtOnce; ++i) {
        TRY(lookup_.look_ahead(plan_));
        auto edge = plan_.next_ready();
        if (!edge) break;
        TRY(look_up(*edge));
      }
      TRY(start_queued());
      const bool has_ready = plan_.next_ready().has_value();
      if (running_ == 0 && has_ready) continue;
      TRY(write_records());
      const bool is_waiting = payments_.has_waiting() && may_start();
      if (running_ == 0 && !is_waiting) return check_end();
      TRY_ASSIGN(auto event, ports_.runner.wait(has_ready ? 0 : kTickSeconds));
      if (std::holds_alternative<Interrupted>(event)) {
        return interrupted();
      }
      if (auto* completed = std::get_if<Completed>(&event)) {
        TRY(complete(*completed));
      }
      ports_.listener.tick(plan_);
    }
  }

  // Reads the memo's version. Look-ups from now on find everything that others have stored so far.
  Status read_version() {
    if (!plan_.next_ready()) return {};
    TRY_ASSIGN(auto version, ports_.memo.version());
    memo_version_ = version;
    return {};
  }

  // Writes the records of many short commands together, but delays them only briefly, because other
  // processes may wait for the ledger meanwhile, and a kill loses unwritten records. (The memo has
  // the results already.)
  Status write_records() {
    const double now = ports_.clock.monotonic_seconds();
    if (running_ > 0 && now < written_ + kTickSeconds) return {};
    written_ = now;
    return ports_.ledger.flush();
  }

  // Checks the end of a build, when nothing runs. Either all edges are done, or faults keep the
  // other edges from starting.
  [[nodiscard]] Status check_end() const {
    bool is_whole = plan_.count(EdgeState::wanted) == 0 && plan_.count(EdgeState::queued) == 0;
    if (is_whole || summary_.failed > 0) return {};
    return internal_error("the build stopped with edges left to run");
  }

  [[nodiscard]] bool may_start() const {
    return options_.keep_going == 0 || summary_.failed < options_.keep_going;
  }

  // Whether one more command can run on this machine.
  [[nodiscard]] bool has_room() const {
    const int here = running_ - elsewhere_;
    if (here >= options_.jobs) return false;
    return options_.max_load <= 0 || here == 0 || ports_.runner.load() < options_.max_load;
  }

  // Looks for a stored result of the edge, and restores it or queues the edge.
  Status look_up(EdgeId id) {
    const Edge& edge = graph_.edge(id);
    if (edge.is_phony()) {
      TRY(lookup_.files().settle_phony(id));
      plan_.finish(id);
      return read_dyndeps_of(id);
    }
    // If the edge has a dyndep file, the file exists by now.
    TRY_ASSIGN(auto waits_for_dyndep, dyndeps_.settle(id));
    if (waits_for_dyndep) return {};
    TRY_ASSIGN(auto is_settled, lookup_.is_settled(id));
    // An edge with a report is always reported, because of its verdict.
    if (is_settled && graph_.extension(id, "report").empty()) {
      return finish_settled(id);
    }
    if (auto hit = hits_.extract(id)) {
      TRY_ASSIGN(auto is_done, finish_with(id, hit.mapped()));
      if (is_done) return {};
    }
    TRY_ASSIGN(auto finding, lookup_.find(id));
    if (!finding.unmade.empty()) {
      auto waits = plan_.wait_for(id, finding.unmade);
      // A list from another machine may name inputs that this graph cannot have. Then the edge
      // runs.
      if (!waits && !lookup_.results().is_far()) return std::move(waits).error();
      if (waits) return *waits ? Status{} : internal_error("a new file has no digest");
    }
    if (finding.result) {
      TRY_ASSIGN(auto is_done, finish_with(id, {*finding.result}));
      if (is_done) return {};
    }
    TRY_ASSIGN(auto reasons, lookup_.reasons(id, finding));
    found_.insert_or_assign(id, Running{.finding = std::move(finding),
                                        .reasons = std::move(reasons),
                                        .memo_version = memo_version_,
                                        .earlier_output = "",
                                        .since = {.moment = lookup_.files().moment()}});
    plan_.queue(id);
    return {};
  }

  // Ends an edge whose files are up to date.
  Status finish_settled(EdgeId id) {
    plan_.finish(id);
    const std::string step = step_of(id);
    count(step, Outcome::hit, lookup_.snapshot().edge(id)->seconds);
    if (options_.tells_all) ports_.listener.finished(event_of(id, Outcome::hit, false), plan_);
    return read_dyndeps_of(id);
  }

  // Reads dyndep files that no edge makes, before any edge that they extend can start.
  Status read_dyndep_sources() {
    // A dyndep file may add wanted edges, so this list may grow during the loop.
    for (; dyndeps_read_ < plan_.wanted_edges().size(); ++dyndeps_read_) {
      const auto file = graph_.edge(plan_.wanted_edges()[dyndeps_read_]).dyndep;
      if (!file || graph_.node(*file).made_by) continue;
      TRY(dyndeps_.read(*file));
    }
    return {};
  }

  // Reads the dyndep files that a finished edge has made, before another edge is looked up.
  Status read_dyndeps_of(EdgeId id) {
    for (NodeId output : graph_.edge(id).outputs) {
      if (!graph_.is_dyndep(output)) continue;
      TRY(dyndeps_.read(output));
    }
    return {};
  }

  // Ends an edge with a stored result. False: the result could not be put in place.
  Result<bool> finish_with(EdgeId id, const Hit& hit) {
    TRY_ASSIGN(auto restored, outputs_.restore(id, hit));
    if (restored == Outputs::Restored::not_at_all) return false;
    auto status =
        finish(event_of(id, Outcome::hit, restored == Outputs::Restored::now), hit.result, "");
    if (!status) return std::move(status).error();
    return true;
  }

  Status start_queued() {
    TRY(start_waiting());
    bool has_slot = true;
    while (may_start()) {
      const auto where =
          has_slot && has_room() ? BuildPlan::Where::anywhere : BuildPlan::Where::elsewhere;
      auto id = plan_.next_queued(where);
      if (!id) return {};
      if (where == BuildPlan::Where::anywhere && !plan_.is_elsewhere(*id)) {
        has_slot = ports_.runner.acquire();
        if (!has_slot) continue;
      }
      plan_.run(*id);
      const Digest action = action_of(*id);
      if (const ActionResult* paid = payments_.result_of(action)) {
        TRY(join(*id, *paid));
        continue;
      }
      TRY_ASSIGN(auto turn, payments_.enter(*id, action));
      if (turn != Payments::Turn::pays) continue;
      TRY(pay(*id));
    }
    return {};
  }

  // Starts edges that waited for another process, if that process is done with their action.
  Status start_waiting() {
    const double now = ports_.clock.monotonic_seconds();
    if (!payments_.has_waiting() || now < asked_ + kTickSeconds) return {};
    asked_ = now;
    while (may_start() && has_room()) {
      if (!ports_.runner.acquire()) return {};
      TRY_ASSIGN(auto id, payments_.next_to_pay());
      if (!id) return {};
      TRY(pay(*id));
    }
    return {};
  }

  // Starts an edge's command, unless another process has stored a result since the look-up.
  Status pay(EdgeId id) {
    Running& running = found_.at(id);
    TRY_ASSIGN(auto version, ports_.memo.version());
    if (version == running.memo_version) return start(id);
    TRY_ASSIGN(auto finding, lookup_.find(id));
    if (!finding.result) return start(id);
    TRY_ASSIGN(auto is_done, finish_with(id, {*finding.result}));
    if (!is_done) return start(id);
    return end_payment(id, *finding.result);
  }

  // Ends the payment of a finished edge, and finishes the edges that joined it.
  Status end_payment(EdgeId id, const ActionResult& result) {
    const Digest action = action_of(id);
    found_.erase(id);
    for (EdgeId other : payments_.end(action, &result)) {
      TRY(join(other, result));
    }
    return {};
  }

  [[nodiscard]] Digest action_of(EdgeId id) const { return found_.at(id).finding.declared.key(); }

  Status start(EdgeId id) {
    TRY(outputs_.prepare(id));
    const Placement placement = placement_of(graph_.extensions(id), options_.capacity);
    TRY(check_capacity(id, placement.needs));
    Running& running = found_.at(id);
    running.is_elsewhere = placement.is_elsewhere;
    TRY_ASSIGN(auto command, command_of(graph_, id, lookup_.keys(), options_.command_environment,
                                        placement, running.finding.declared.key()));
    command.keeps_leftovers = !options_.rules.are_strict;
    // The edge is reported before its command starts, so that the command's own output on the
    // terminal follows the edge's line.
    if (running.failures == 0 && !changed_.contains(id))
      ports_.listener.started(event_of(id, Outcome::ran, false));
    running.since.started = ports_.clock.file_time();
    TRY(ports_.runner.start(command));
    ++running_;
    if (placement.is_elsewhere) ++elsewhere_;
    started_.insert(id);
    return {};
  }

  // Checks that there are as many devices as the edge needs. A need for memory is only an estimate,
  // so it may exceed the capacity.
  Status check_capacity(EdgeId id, const Resources& needs) const {
    for (const auto& [name, amount] : needs) {
      auto capacity = options_.capacity.find(name);
      if (name == "memory" || capacity == options_.capacity.end()) continue;
      if (amount > capacity->second) {
        return bad_input(fmt::format("'{}' needs {} {}, but only {} exist",
                                     graph_.path(graph_.edge(id).outputs.front()), amount, name,
                                     capacity->second));
      }
    }
    return {};
  }

  Status remove_half_written() {
    for (EdgeId id : started_) {
      TRY(outputs_.remove_half_written(id));
    }
    return {};
  }

  // Queues a failed command again if its edge allows another attempt. Returns whether the command
  // was queued.
  Result<bool> retry(EdgeId id, Running& running, const Completed& completed) {
    const Extensions& extensions = graph_.extensions(id);
    const bool is_final =
        completed.is_final ||
        (!completed.timed_out && extensions.final_exit_codes.count(completed.exit_status) > 0);
    if (is_final || running.failures >= extensions.retries) return false;
    TRY(outputs_.remove_half_written(id));
    ++running.failures;
    ++summary_.retried;
    const std::string end = completed.timed_out
                                ? fmt::format("took over {} s", extensions.timeout_seconds)
                                : fmt::format("exited with {}", completed.exit_status);
    running.earlier_output +=
        completed.output + fmt::format("evolve: warning: attempt {} of {} {}: trying again\n",
                                       running.failures, extensions.retries + 1, end);
    plan_.queue(id);
    return true;
  }

  Status complete(Completed& completed) {
    --running_;
    auto id = static_cast<EdgeId>(completed.id);
    Running& running = found_.at(id);
    if (running.is_elsewhere) --elsewhere_;
    if (completed.exit_status == kInterruptStatus) return interrupted();
    started_.erase(id);
    auto result = collector_.collect(id, running.finding, completed);
    if (!result && result.error().code != ErrorCode::failed) return std::move(result).error();
    if (!result) {
      TRY_ASSIGN(auto is_retried, retry(id, running, completed));
      if (is_retried) return {};
      completed.output.insert(0, running.earlier_output);
      return fail(id, completed, std::move(result).error());
    }
    TRY_ASSIGN(auto is_rerun, rerun_if_changed(id, running, *result));
    if (is_rerun) return {};
    TRY(ports_.memo.put(*result));
    TRY(outputs_.remove_response_file(id));
    EdgeEvent event = event_of(id, Outcome::ran, false);
    event.output = running.earlier_output;
    TRY(finish(std::move(event), *result, joined_text(running.reasons)));
    return end_payment(id, *result);
  }

  // Drops the result if a file that the command read was changed meanwhile, because nobody knows
  // which bytes the command read. True: the result was dropped. Then the edge will be looked up
  // again, or it has failed after too many reruns.
  Result<bool> rerun_if_changed(EdgeId id, const Running& running, ActionResult& result) {
    const bool is_strict = options_.rules.are_strict;
    TRY_ASSIGN(auto node,
               lookup_.files().changed_since(id, result.discovered, running.since, is_strict));
    if (!node) return false;
    Changed& its = changed_[id];
    ++its.times;
    // A command of a manifest that evolve did not write may itself change a file that it reads. So
    // if a file changed during the second run, too, the file counts as the command left it.
    if (its.times > 1 && !is_strict) {
      TRY(lookup_.keys().rekey(id, result));
      return false;
    }
    const std::string what =
        fmt::format("'{}' changed while the command read it", graph_.path(*node));
    if (its.times > kMostReruns) {
      Completed completed;
      Error error = failed(fmt::format(
          "{}: {}, {} times", graph_.path(graph_.edge(id).outputs.front()), what, its.times));
      error.hint = "run the command again when nothing writes to the file";
      TRY(outputs_.remove_half_written(id));
      TRY(fail(id, completed, error));
      return true;
    }
    its.output += fmt::format("evolve: warning: {}: running the command again\n", what);
    ++summary_.retried;
    std::vector<EdgeId> edges = payments_.end(action_of(id), nullptr);
    edges.push_back(id);
    for (EdgeId edge : edges) {
      found_.erase(edge);
      plan_.ready_again(edge);
    }
    return true;
  }

  // Ends an edge with the result of another edge that ran the same action in this build.
  Status join(EdgeId id, const ActionResult& result) {
    TRY_ASSIGN(auto restored, outputs_.restore(id, {result}));
    if (restored == Outputs::Restored::not_at_all) {
      return internal_error("a blob that was just stored is gone");
    }
    std::string reason = joined_text(found_.at(id).reasons);
    found_.erase(id);
    return finish(event_of(id, Outcome::joined, false), result, reason);
  }

  Status finish(EdgeEvent event, const ActionResult& result, const std::string& reason) {
    const EdgeId id = event.edge;
    const Edge& edge = graph_.edge(id);
    for (size_t i = 0; i < edge.outputs.size(); ++i) {
      lookup_.files().set_digest(edge.outputs[i], result.outputs[i]);
    }
    if (result.has_all_outputs()) {
      TRY(lookup_.settle(id, result));
    }
    event.verdict = result.verdict;
    event.seconds = event.outcome == Outcome::ran ? result.seconds : 0;
    if (auto changed = changed_.extract(id)) event.output.insert(0, changed.mapped().output);
    if (event.is_restored || event.outcome == Outcome::ran) event.output += result.output;
    EdgeRecord record{lookup_.keys().record_name(id), event.step, event.outcome, reason, result};
    TRY(ports_.ledger.record(record));
    plan_.finish(id);
    count(event.step, event.outcome, result.seconds);
    ports_.listener.finished(event, plan_);
    return read_dyndeps_of(id);
  }

  // Counts an edge that succeeded.
  void count(const std::string& step, Outcome outcome, double seconds) {
    StepSummary& its = summary_.by_step[step];
    ++its.outcomes[outcome];
    (outcome == Outcome::ran ? its.spent_seconds : its.saved_seconds) += seconds;
    ++(outcome == Outcome::ran ? summary_.ran : summary_.cached);
  }

  Status fail(EdgeId id, const Completed& completed, const Error& error) {
    std::vector<EdgeId> edges = payments_.end(action_of(id), nullptr);
    edges.insert(edges.begin(), id);
    // A command that exited with 0 can still fail, for example because an output is missing. Then
    // the status is 1.
    summary_.exit_status = completed.exit_status != 0 ? completed.exit_status : 1;
    for (EdgeId edge : edges) {
      found_.erase(edge);
      EdgeEvent event = event_of(edge, Outcome::failed, false);
      event.exit_status = summary_.exit_status;
      event.output = completed.output;
      if (completed.exit_status == 0 || completed.timed_out) event.output += error.message + "\n";
      EdgeRecord record = {.output = lookup_.keys().record_name(edge),
                           .step = event.step,
                           .outcome = Outcome::failed,
                           .reason = error.message};
      record.result.built_at = ports_.clock.utc();
      TRY(ports_.ledger.record(record));
      plan_.fail(edge);
      ++summary_.failed;
      ++summary_.by_step[event.step].outcomes[Outcome::failed];
      ports_.listener.finished(event, plan_);
    }
    ports_.listener.fault(error);
    return {};
  }

  [[nodiscard]] std::string step_of(EdgeId id) const {
    std::string step = graph_.extension(id, "step");
    return step.empty() ? std::string(graph_.edge(id).rule->name) : step;
  }

  [[nodiscard]] EdgeEvent event_of(EdgeId id, Outcome outcome, bool is_restored) const {
    const Edge& edge = graph_.edge(id);
    EdgeEvent event;
    event.edge = id;
    event.outcome = outcome;
    event.is_restored = is_restored;
    event.has_console = edge.pool->name == "console";
    event.step = step_of(id);
    event.subject = graph_.extension(id, "subject");
    if (event.subject.empty()) event.subject = graph_.path(edge.outputs.front());
    return event;
  }

  static Error interrupted() {
    return interrupted_error("interrupted", "run the command again to resume");
  }

  // Returns the text for the ledger's column of reasons.
  static std::string joined_text(const std::vector<Reason>& reasons) {
    return fmt::format("{}", fmt::join(texts_of(reasons), "; "));
  }

  Graph& graph_;
  Lookup& lookup_;
  const BuildPorts& ports_;
  const BuildOptions& options_;
  Hits hits_;  // found by a scan before the build
  BuildPlan plan_;
  Dyndeps dyndeps_;
  Collector collector_;
  Outputs outputs_;
  BuildSummary summary_;
  std::unordered_map<EdgeId, Running> found_;  // queued and running edges
  Payments payments_;
  std::map<EdgeId, Changed> changed_;
  std::set<EdgeId> started_;  // commands that run
  int running_ = 0;           // commands
  int elsewhere_ = 0;         // commands that other machines run
  int64_t memo_version_ = 0;  // the memo's version that look-ups see
  size_t dyndeps_read_ = 0;   // wanted edges that read_dyndep_sources() has seen
  double written_ = 0;        // when the ledger was last written
  double asked_ = 0;          // when start_waiting() last looked
};

}  // namespace

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::hit: return "hit";
    case Outcome::ran: return "ran";
    case Outcome::joined: return "joined";
    case Outcome::failed: return "failed";
  }
  return "";
}

Result<BuildSummary> build(Graph& graph, const std::vector<NodeId>& targets, Lookup& lookup,
                           const BuildPorts& ports, const BuildOptions& options, Hits hits) {
  if (auto cycle = graph.find_cycle(targets)) return bad_input("dependency cycle: " + *cycle);
  return Build(graph, targets, lookup, ports, options, std::move(hits)).run();
}

}  // namespace evolve
