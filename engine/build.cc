#include "engine/build.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "engine/core/depfile.h"
#include "engine/core/dyndep.h"

namespace evolve {

namespace {

constexpr double kTickSeconds = 0.1;
// A command that ends so was interrupted by the user, in Ninja's eyes and in a shell's.
constexpr int kInterruptStatus = 130;

std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// The last `count` lines of a text, to print below an error.
std::string last_lines(const std::string& text, size_t count) {
  size_t start = text.size();
  while (start > 0 && count > 0) {
    size_t newline = start >= 2 ? text.rfind('\n', start - 2) : std::string::npos;
    start = newline == std::string::npos ? 0 : newline + 1;
    --count;
  }
  return text.substr(start);
}

class Build {
 public:
  Build(Graph& graph, const std::vector<NodeId>& targets, const BuildPorts& ports,
        const BuildOptions& options)
      : graph_(graph),
        ports_(ports),
        options_(options),
        plan_(graph, targets),
        lookup_(graph, ports.files, ports.memo, ports.ledger, options.machine,
                options.environment) {}

  Result<BuildSummary> run() {
    double start = ports_.clock.monotonic_seconds();
    ports_.listener.planned(graph_, plan_);
    Status status = loop();
    if (!status) {
      ports_.runner.stop();
      auto removed = remove_half_written();
      return removed ? std::move(status).error() : std::move(removed).error();
    }
    summary_.skipped = static_cast<int>(plan_.count(EdgeState::skipped));
    summary_.seconds = ports_.clock.monotonic_seconds() - start;
    return summary_;
  }

 private:
  // What is known of an edge from its look-up to its end.
  struct Running {
    Finding finding;
    std::vector<std::string> reasons;
    std::vector<EdgeId> joined;  // edges with the same action, waiting for this one
  };

  Status loop() {
    while (true) {
      while (auto edge = plan_.next_ready()) {
        if (auto status = look_up(*edge); !status) return status;
      }
      if (auto status = start_queued(); !status) return status;
      // An edge that joined a result of this build may have readied others.
      if (plan_.next_ready()) continue;
      if (running_ == 0) return check_end();
      auto event = ports_.runner.wait(kTickSeconds);
      if (!event) return std::move(event).error();
      if (std::holds_alternative<Interrupted>(*event)) {
        return interrupted();
      }
      if (auto* completed = std::get_if<Completed>(&*event)) {
        if (auto status = complete(*completed); !status) return status;
      }
      ports_.listener.tick(plan_);
    }
  }

  // Nothing runs: all is done, or faults keep the rest from starting.
  [[nodiscard]] Status check_end() const {
    bool is_whole = plan_.count(EdgeState::wanted) == 0 && plan_.count(EdgeState::queued) == 0;
    if (is_whole || summary_.failed > 0) return {};
    return internal_error("the build came to a halt with edges left to run");
  }

  [[nodiscard]] bool may_start() const {
    return options_.keep_going == 0 || summary_.failed < options_.keep_going;
  }

  [[nodiscard]] bool is_too_busy() const {
    return options_.max_load > 0 && running_ > 0 && ports_.runner.load() >= options_.max_load;
  }

  // Finds the edge's stored result, and restores it or queues the edge.
  Status look_up(EdgeId id) {
    const Edge& edge = graph_.edge(id);
    if (edge.is_phony()) {
      if (auto status = lookup_.settle_phony(id); !status) return status;
      plan_.finish(id);
      return {};
    }
    auto waits_for_dyndep = settle_dyndep(id);
    if (!waits_for_dyndep) return std::move(waits_for_dyndep).error();
    if (*waits_for_dyndep) return {};
    auto finding = lookup_.find(id);
    if (!finding) return std::move(finding).error();
    if (!finding->unmade.empty()) {
      auto waits = plan_.wait_for(id, finding->unmade);
      if (!waits) return std::move(waits).error();
      return *waits ? Status{} : internal_error("a file was made and has no digest");
    }
    if (finding->result) {
      auto restored = restore(id, *finding->result);
      if (!restored) return std::move(restored).error();
      if (*restored != Restored::not_at_all) {
        return finish(event_of(id, Outcome::hit, *restored == Restored::now), *finding->result, "");
      }
    }
    auto reasons = lookup_.reasons(id, *finding);
    if (!reasons) return std::move(reasons).error();
    found_.insert_or_assign(id, Running{*std::move(finding), *std::move(reasons), {}});
    plan_.queue(id);
    return {};
  }

  // Reads the edge's dyndep file, which is made by now. True: the edge has to wait for what stands
  // there.
  Result<bool> settle_dyndep(EdgeId id) {
    const auto file = graph_.edge(id).dyndep;
    if (!file) return false;
    if (!graph_.is_dyndep_loaded(*file)) {
      auto text = ports_.files.read(graph_.path(*file));
      if (!text) return std::move(text).error();
      ports_.listener.dyndep_loaded(*file);
      auto status = load_dyndep(graph_, *file, *std::move(text));
      if (!status) return std::move(status).error();
    }
    return plan_.wait_for(id, graph_.edge(id).inputs);
  }

  enum class Restored {
    not_at_all,  // a blob is gone
    before,      // all files were in place
    now,
  };

  // Puts a result's blobs where the edge's outputs belong.
  Result<Restored> restore(EdgeId id, const ActionResult& result) {
    const Edge& edge = graph_.edge(id);
    // A command that did not write all that it was to write runs again.
    if (result.outputs.size() != edge.outputs.size() || !result.has_all_outputs()) {
      return Restored::not_at_all;
    }
    // A generator writes more than it declares: its outputs alone would not be what it made.
    const bool is_generator = !graph_.binding(id, "generator").empty();
    Restored restored = Restored::before;
    for (size_t i = 0; i < edge.outputs.size(); ++i) {
      const std::string& path = graph_.path(edge.outputs[i]);
      auto there = ports_.files.digest(path);
      if (!there) return std::move(there).error();
      if (*there == result.outputs[i]) continue;
      if (is_generator) return Restored::not_at_all;
      if (auto status = ports_.files.make_folders(folder_of(path)); !status) {
        return std::move(status).error();
      }
      auto fetched = ports_.blobs.fetch(result.outputs[i], path);
      if (!fetched) return std::move(fetched).error();
      if (!*fetched) return Restored::not_at_all;
      restored = Restored::now;
    }
    return restored;
  }

  Status start_queued() {
    while (running_ < options_.jobs && may_start() && !is_too_busy()) {
      auto id = plan_.next_queued();
      if (!id) return {};
      plan_.run(*id);
      Digest action = found_.at(*id).finding.declared.key();
      if (auto paid = paid_.find(action); paid != paid_.end()) {
        if (auto status = join(*id, paid->second); !status) return status;
        continue;
      }
      auto [payer, is_first] = paying_.try_emplace(action, *id);
      if (!is_first) {
        found_.at(payer->second).joined.push_back(*id);
        continue;
      }
      if (auto status = start(*id); !status) return status;
    }
    return {};
  }

  Status start(EdgeId id) {
    const Edge& edge = graph_.edge(id);
    for (NodeId output : edge.outputs) {
      const std::string& path = graph_.path(output);
      if (auto status = ports_.files.make_folders(folder_of(path)); !status) return status;
      if (!options_.rules.are_strict) {
        auto before = ports_.files.digest(path);
        if (!before) return std::move(before).error();
        before_[output] = *before;
        continue;
      }
      // What is there may be a second name of a blob, which a command must not write into.
      if (auto status = ports_.files.remove(path); !status) return status;
    }
    std::string depfile = graph_.binding(id, "depfile", Graph::Quoting::none);
    if (!depfile.empty()) {
      if (auto status = ports_.files.make_folders(folder_of(depfile)); !status) return status;
    }
    std::string response_file = graph_.binding(id, "rspfile", Graph::Quoting::none);
    if (!response_file.empty()) {
      if (auto status = ports_.files.make_folders(folder_of(response_file)); !status) return status;
      auto written = ports_.files.write(response_file, graph_.binding(id, "rspfile_content"));
      if (!written) return written;
    }
    Command command;
    command.id = static_cast<uint64_t>(index(id));
    command.line = graph_.binding(id, "command");
    command.worker = graph_.binding(id, "worker");
    command.arguments = graph_.binding(id, "arguments");
    command.environment = options_.command_environment;
    for (const auto& [name, value] : lookup_.declared_environment(id)) {
      command.environment[name] = value;
    }
    command.timeout_seconds = std::strtod(graph_.binding(id, "timeout").c_str(), nullptr);
    command.console = graph_.binding(id, "pool") == "console";
    if (auto status = ports_.runner.start(command); !status) return status;
    ++running_;
    started_.insert(id);
    ports_.listener.started(event_of(id, Outcome::ran, false));
    return {};
  }

  // What commands that were cut off had written of their outputs. An output that one left as it was
  // stays, a manifest that was being made anew above all.
  Status remove_half_written() {
    for (EdgeId id : started_) {
      const std::string depfile = graph_.binding(id, "depfile", Graph::Quoting::none);
      for (NodeId output : graph_.edge(id).outputs) {
        const std::string path = graph_.path(output);
        auto now = ports_.files.digest(path);
        if (!now) return std::move(now).error();
        bool is_untouched = before_.contains(output) && before_[output] == *now && depfile.empty();
        if (!*now || is_untouched) continue;
        if (auto status = ports_.files.remove(path); !status) return status;
      }
      if (depfile.empty()) continue;
      if (auto status = ports_.files.remove(depfile); !status) return status;
    }
    return {};
  }

  Status complete(Completed& completed) {
    --running_;
    auto id = static_cast<EdgeId>(completed.id);
    if (completed.exit_status == kInterruptStatus) return interrupted();
    started_.erase(id);
    Running running = std::move(found_.at(id));
    found_.erase(id);
    paying_.erase(running.finding.declared.key());
    auto result = result_of(id, running.finding, completed);
    if (!result && result.error().code != ErrorCode::failed) return std::move(result).error();
    if (!result) return fail(id, running, completed, std::move(result).error());
    if (auto status = ports_.memo.put(*result); !status) return status;
    paid_.insert_or_assign(result->declared_key, *result);
    if (auto status = remove_response_file(id); !status) return status;
    if (auto status =
            finish(event_of(id, Outcome::ran, false), *result, joined_text(running.reasons));
        !status) {
      return status;
    }
    for (EdgeId other : running.joined) {
      if (auto status = join(other, *result); !status) return status;
    }
    return {};
  }

  // Its content is part of the key and of the manifest; the file is not needed any more.
  Status remove_response_file(EdgeId id) {
    const std::string path = graph_.binding(id, "rspfile", Graph::Quoting::none);
    if (path.empty() || options_.rules.keep_rsp) return {};
    return ports_.files.remove(path);
  }

  // Ends an edge with the result of another edge that ran the same action in this build.
  Status join(EdgeId id, const ActionResult& result) {
    auto restored = restore(id, result);
    if (!restored) return std::move(restored).error();
    if (*restored == Restored::not_at_all) {
      return internal_error("a blob that was just stored is gone");
    }
    std::string reason = joined_text(found_.at(id).reasons);
    found_.erase(id);
    return finish(event_of(id, Outcome::joined, false), result, reason);
  }

  // Stores the outputs of a run as blobs. An error of code `failed` is the edge's; others are the
  // build's.
  Result<ActionResult> result_of(EdgeId id, const Finding& finding, Completed& completed) {
    auto discovered = read_discovered(id, completed);
    if (!discovered) return std::move(discovered).error();
    if (completed.exit_status != 0 || completed.timed_out) return command_error(id, completed);
    auto full = lookup_.full_key(id, finding.declared, *discovered);
    if (!full) return std::move(full).error();
    ActionResult result;
    result.key = full->key();
    result.declared_key = finding.declared.key();
    result.parts = full->parts();
    result.discovered = *std::move(discovered);
    result.output = completed.output;
    result.seconds = completed.seconds;
    result.paid_by = record_name(id);
    result.built_at = ports_.clock.utc();
    for (NodeId output : graph_.edge(id).outputs) {
      auto digest = store_output(id, graph_.path(output));
      if (!digest) return std::move(digest).error();
      result.outputs.push_back(*digest);
    }
    auto verdict = read_verdict(id);
    if (!verdict) return std::move(verdict).error();
    result.verdict = *std::move(verdict);
    return result;
  }

  Result<Digest> store_output(EdgeId id, const std::string& path) {
    auto there = ports_.files.digest(path);
    if (!there) return std::move(there).error();
    if (!*there && options_.rules.are_strict) {
      return failed(fmt::format("{}: the command did not write '{}'", first_output(id), path));
    }
    if (!*there) return missing_digest();
    if (**there == folder_digest()) return folder_digest();
    return ports_.blobs.put_file(path);
  }

  [[nodiscard]] std::string first_output(EdgeId id) const {
    return graph_.path(graph_.edge(id).outputs.front());
  }

  Error command_error(EdgeId id, const Completed& completed) const {
    constexpr size_t kLines = 20;
    std::string what = completed.timed_out ? "command timed out"
                       : completed.exit_status > 128
                           ? fmt::format("command died of signal {}", completed.exit_status - 128)
                           : fmt::format("command exited with {}", completed.exit_status);
    Error error =
        failed(fmt::format("{}: {} after {:.1f} s", first_output(id), what, completed.seconds));
    error.detail = fmt::format("  command: {}", graph_.binding(id, "command"));
    std::string output = last_lines(completed.output, kLines);
    while (output.ends_with('\n')) output.pop_back();
    if (!output.empty()) error.detail += "\n" + output;
    return error;
  }

  // The inputs that a run discovered, without those that were declared. What the compiler told
  // among its output is taken out of it, of a command that failed too.
  Result<std::vector<std::string>> read_discovered(EdgeId id, Completed& completed) {
    std::vector<std::string> inputs;
    const std::string kind = graph_.binding(id, "deps");
    if (kind == "msvc") {
      auto shown = parse_show_includes(completed.output, graph_.binding(id, "msvc_deps_prefix"));
      completed.output = std::move(shown.output);
      inputs = std::move(shown.inputs);
    }
    if (completed.exit_status != 0 || completed.timed_out) return inputs;
    if (kind != "msvc") {
      auto read = read_depfile(id, kind);
      if (!read) return read;
      inputs = *std::move(read);
    }
    std::erase_if(inputs, [&](const std::string& input) {
      auto node = graph_.find_node(input);
      auto declared = graph_.edge(id).content_inputs();
      return node && std::find(declared.begin(), declared.end(), *node) != declared.end();
    });
    return inputs;
  }

  Result<std::vector<std::string>> read_depfile(EdgeId id, const std::string& kind) {
    const std::string path = graph_.binding(id, "depfile", Graph::Quoting::none);
    if (!kind.empty() && kind != "gcc") return failed(fmt::format("unknown deps type '{}'", kind));
    if (path.empty() && kind == "gcc") {
      return failed("edge with deps=gcc but no depfile makes no sense");
    }
    if (path.empty()) return std::vector<std::string>{};
    auto there = ports_.files.digest(path);
    if (!there) return std::move(there).error();
    if (!*there && options_.rules.are_strict) {
      return failed(
          fmt::format("{}: the command did not write its depfile '{}'", first_output(id), path));
    }
    if (!*there) return std::vector<std::string>{};
    auto text = ports_.files.read(path);
    if (!text) return std::move(text).error();
    auto inputs = parse_depfile(*text, path);
    if (!inputs) return failed(inputs.error().message);
    if (kind == "gcc" && !options_.rules.keep_depfile) {
      if (auto status = ports_.files.remove(path); !status) return std::move(status).error();
    }
    return inputs;
  }

  // The verdict in the edge's report, where it has one.
  Result<std::string> read_verdict(EdgeId id) {
    std::string path = graph_.binding(id, "report");
    if (path.empty()) return std::string();
    auto text = ports_.files.read(path);
    if (!text) return std::move(text).error();
    auto report = nlohmann::json::parse(*text, nullptr, false);
    if (!report.is_object() || !report.contains("verdict") || !report["verdict"].is_string()) {
      return failed(fmt::format("{}: the report has no verdict", path));
    }
    return report["verdict"].get<std::string>();
  }

  Status finish(EdgeEvent event, const ActionResult& result, const std::string& reason) {
    const EdgeId id = event.edge;
    const Edge& edge = graph_.edge(id);
    for (size_t i = 0; i < edge.outputs.size(); ++i) {
      lookup_.set_digest(edge.outputs[i], result.outputs[i]);
    }
    event.verdict = result.verdict;
    event.seconds = event.outcome == Outcome::ran ? result.seconds : 0;
    if (event.is_restored || event.outcome == Outcome::ran) event.output = result.output;
    EdgeRecord record{record_name(id), event.step, event.outcome, reason, result};
    if (auto status = ports_.ledger.record(record); !status) return status;
    plan_.finish(id);
    ++summary_.by_step[event.step][event.outcome];
    ++(event.outcome == Outcome::ran ? summary_.ran : summary_.cached);
    if (!result.verdict.empty()) ++summary_.verdicts[result.verdict];
    ports_.listener.finished(event, plan_);
    return {};
  }

  Status fail(EdgeId id, const Running& running, const Completed& completed, const Error& error) {
    std::vector<EdgeId> edges = {id};
    edges.insert(edges.end(), running.joined.begin(), running.joined.end());
    // A command that did not fail by itself is made to have failed by what it left.
    summary_.exit_status = completed.exit_status != 0 ? completed.exit_status : 1;
    for (EdgeId edge : edges) {
      found_.erase(edge);
      EdgeEvent event = event_of(edge, Outcome::failed, false);
      event.exit_status = summary_.exit_status;
      event.output = completed.output;
      if (completed.exit_status == 0) event.output += error.message + "\n";
      EdgeRecord record{record_name(edge), event.step, Outcome::failed, error.message, {}};
      record.result.built_at = ports_.clock.utc();
      if (auto status = ports_.ledger.record(record); !status) return status;
      plan_.fail(edge);
      ++summary_.failed;
      ++summary_.by_step[event.step][Outcome::failed];
      ports_.listener.finished(event, plan_);
    }
    ports_.listener.fault(error);
    return {};
  }

  [[nodiscard]] EdgeEvent event_of(EdgeId id, Outcome outcome, bool is_restored) const {
    const Edge& edge = graph_.edge(id);
    EdgeEvent event;
    event.edge = id;
    event.outcome = outcome;
    event.is_restored = is_restored;
    event.has_console = edge.pool->name == "console";
    event.step = graph_.binding(id, "step");
    if (event.step.empty()) event.step = std::string(edge.rule->name);
    event.subject = graph_.binding(id, "subject");
    if (event.subject.empty()) event.subject = first_output(id);
    return event;
  }

  static Error interrupted() {
    Error error{ErrorCode::interrupted, "interrupted", "", "", false};
    error.hint = "build again to go on where it stopped";
    return error;
  }

  [[nodiscard]] std::string record_name(EdgeId id) const {
    return symbolic_path(graph_.path(graph_.edge(id).outputs.front()), options_.machine);
  }

  static std::string joined_text(const std::vector<std::string>& reasons) {
    return fmt::format("{}", fmt::join(reasons, "; "));
  }

  Graph& graph_;
  const BuildPorts& ports_;
  const BuildOptions& options_;
  Plan plan_;
  Lookup lookup_;
  BuildSummary summary_;
  std::unordered_map<EdgeId, Running> found_;       // queued and running edges
  std::unordered_map<Digest, EdgeId> paying_;       // running actions by declared key
  std::unordered_map<Digest, ActionResult> paid_;   // those that ran in this build
  std::set<EdgeId> started_;                        // commands that run
  std::map<NodeId, std::optional<Digest>> before_;  // what lay where they write
  int running_ = 0;                                 // commands
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

Result<BuildSummary> build(Graph& graph, const std::vector<NodeId>& targets,
                           const BuildPorts& ports, const BuildOptions& options) {
  if (auto cycle = graph.find_cycle(targets)) return bad_input("dependency cycle: " + *cycle);
  return Build(graph, targets, ports, options).run();
}

}  // namespace evolve
