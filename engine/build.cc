#include "engine/build.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "engine/core/depfile.h"

namespace evolve {

namespace {

constexpr double kTickSeconds = 0.1;

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

// A phony edge's outputs are its inputs: new bytes there are new bytes here.
Digest phony_digest(const Graph& graph, const Edge& edge, Lookup& lookup, EdgeId id) {
  Hasher hasher;
  for (NodeId input : edge.content_inputs()) {
    auto digest = lookup.digest(input, id);
    hasher.add(digest ? digest->hex() : "missing " + graph.path(input));
  }
  return hasher.digest();
}

class Build {
 public:
  Build(const Graph& graph, const std::vector<NodeId>& targets, const BuildPorts& ports,
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
      return std::move(status).error();
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
        return Error{ErrorCode::interrupted, "interrupted", "",
                     "build again to go on where it stopped"};
      }
      if (const auto* completed = std::get_if<Completed>(&*event)) {
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

  // Finds the edge's stored result, and restores it or queues the edge.
  Status look_up(EdgeId id) {
    const Edge& edge = graph_.edge(id);
    if (edge.is_phony()) {
      Digest digest = phony_digest(graph_, edge, lookup_, id);
      for (NodeId output : edge.outputs) lookup_.set_digest(output, digest);
      plan_.finish(id);
      return {};
    }
    auto finding = lookup_.find(id);
    if (!finding) return std::move(finding).error();
    if (finding->result) {
      auto restored = restore(edge, *finding->result);
      if (!restored) return std::move(restored).error();
      if (*restored) return finish(id, Outcome::hit, *finding->result, "");
    }
    auto reasons = lookup_.reasons(id, *finding);
    if (!reasons) return std::move(reasons).error();
    found_.insert_or_assign(id, Running{*std::move(finding), *std::move(reasons), {}});
    plan_.queue(id);
    return {};
  }

  // Puts a result's blobs where the edge's outputs belong. False: a blob is gone.
  Result<bool> restore(const Edge& edge, const ActionResult& result) {
    if (result.outputs.size() != edge.outputs.size()) return false;
    for (size_t i = 0; i < edge.outputs.size(); ++i) {
      const std::string& path = graph_.path(edge.outputs[i]);
      auto there = ports_.files.digest(path);
      if (!there) return std::move(there).error();
      if (*there == result.outputs[i]) continue;
      if (auto status = ports_.files.make_folders(folder_of(path)); !status) {
        return std::move(status).error();
      }
      auto fetched = ports_.blobs.fetch(result.outputs[i], path);
      if (!fetched) return std::move(fetched).error();
      if (!*fetched) return false;
    }
    return true;
  }

  Status start_queued() {
    while (running_ < options_.jobs && may_start()) {
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
      // What is there may be a second name of a blob, which a command must not write into.
      if (auto status = ports_.files.remove(path); !status) return status;
    }
    std::string response_file = graph_.binding(id, "rspfile");
    if (!response_file.empty()) {
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
    ports_.listener.started(event_of(id, Outcome::ran));
    return {};
  }

  Status complete(const Completed& completed) {
    --running_;
    auto id = static_cast<EdgeId>(completed.id);
    Running running = std::move(found_.at(id));
    found_.erase(id);
    paying_.erase(running.finding.declared.key());
    auto result = result_of(id, running.finding, completed);
    if (!result && result.error().code != ErrorCode::failed) return std::move(result).error();
    if (!result) return fail(id, running, std::move(result).error());
    if (auto status = ports_.memo.put(*result); !status) return status;
    paid_.insert_or_assign(result->declared_key, *result);
    if (auto status = finish(id, Outcome::ran, *result, joined_text(running.reasons)); !status) {
      return status;
    }
    for (EdgeId other : running.joined) {
      if (auto status = join(other, *result); !status) return status;
    }
    return {};
  }

  // Ends an edge with the result of another edge that ran the same action in this build.
  Status join(EdgeId id, const ActionResult& result) {
    auto restored = restore(graph_.edge(id), result);
    if (!restored) return std::move(restored).error();
    if (!*restored) return internal_error("a blob that was just stored is gone");
    std::string reason = joined_text(found_.at(id).reasons);
    found_.erase(id);
    return finish(id, Outcome::joined, result, reason);
  }

  // Stores the outputs of a run as blobs. An error of code `failed` is the edge's; others are the
  // build's.
  Result<ActionResult> result_of(EdgeId id, const Finding& finding, const Completed& completed) {
    const std::string& name = graph_.path(graph_.edge(id).outputs.front());
    if (completed.exit_status != 0 || completed.timed_out) return command_error(id, completed);
    auto discovered = read_depfile(id);
    if (!discovered) return std::move(discovered).error();
    auto full = lookup_.full_key(id, finding.declared, *discovered);
    if (!full) return std::move(full).error();
    ActionResult result;
    result.key = full->key();
    result.declared_key = finding.declared.key();
    result.parts = full->parts();
    result.discovered = *std::move(discovered);
    result.seconds = completed.seconds;
    result.paid_by = record_name(id);
    result.built_at = ports_.clock.utc();
    for (NodeId output : graph_.edge(id).outputs) {
      const std::string& path = graph_.path(output);
      auto there = ports_.files.digest(path);
      if (!there) return std::move(there).error();
      if (!*there) return failed(fmt::format("{}: the command did not write '{}'", name, path));
      auto blob = ports_.blobs.put_file(path);
      if (!blob) return std::move(blob).error();
      result.outputs.push_back(*blob);
    }
    auto verdict = read_verdict(id);
    if (!verdict) return std::move(verdict).error();
    result.verdict = *std::move(verdict);
    return result;
  }

  Error command_error(EdgeId id, const Completed& completed) const {
    constexpr size_t kLines = 20;
    std::string what = completed.timed_out ? "command timed out"
                       : completed.exit_status > 128
                           ? fmt::format("command died of signal {}", completed.exit_status - 128)
                           : fmt::format("command exited with {}", completed.exit_status);
    Error error =
        failed(fmt::format("{}: {} after {:.1f} s", graph_.path(graph_.edge(id).outputs.front()),
                           what, completed.seconds));
    error.detail = fmt::format("  command: {}", graph_.binding(id, "command"));
    std::string output = last_lines(completed.output, kLines);
    while (output.ends_with('\n')) output.pop_back();
    if (!output.empty()) error.detail += "\n" + output;
    return error;
  }

  // The inputs that a run discovered, without those that were declared.
  Result<std::vector<std::string>> read_depfile(EdgeId id) {
    std::string path = graph_.binding(id, "depfile");
    if (path.empty()) return std::vector<std::string>{};
    auto text = ports_.files.read(path);
    if (!text) {
      return failed(fmt::format("{}: the command did not write its depfile '{}'",
                                graph_.path(graph_.edge(id).outputs.front()), path));
    }
    auto inputs = parse_depfile(*text, path);
    if (!inputs) return failed(inputs.error().message);
    std::erase_if(*inputs, [&](const std::string& input) {
      auto node = graph_.find_node(input);
      auto declared = graph_.edge(id).content_inputs();
      return node && std::find(declared.begin(), declared.end(), *node) != declared.end();
    });
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

  Status finish(EdgeId id, Outcome outcome, const ActionResult& result, const std::string& reason) {
    const Edge& edge = graph_.edge(id);
    for (size_t i = 0; i < edge.outputs.size(); ++i) {
      lookup_.set_digest(edge.outputs[i], result.outputs[i]);
    }
    EdgeEvent event = event_of(id, outcome);
    event.verdict = result.verdict;
    event.seconds = outcome == Outcome::ran ? result.seconds : 0;
    EdgeRecord record{record_name(id), event.step, outcome, reason, result};
    if (auto status = ports_.ledger.record(record); !status) return status;
    plan_.finish(id);
    ++summary_.by_step[event.step][outcome];
    ++(outcome == Outcome::ran ? summary_.ran : summary_.cached);
    if (!result.verdict.empty()) ++summary_.verdicts[result.verdict];
    ports_.listener.finished(event, plan_);
    return {};
  }

  Status fail(EdgeId id, const Running& running, const Error& error) {
    std::vector<EdgeId> edges = {id};
    edges.insert(edges.end(), running.joined.begin(), running.joined.end());
    for (EdgeId edge : edges) {
      found_.erase(edge);
      EdgeEvent event = event_of(edge, Outcome::failed);
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

  [[nodiscard]] EdgeEvent event_of(EdgeId id, Outcome outcome) const {
    EdgeEvent event;
    event.edge = id;
    event.outcome = outcome;
    event.step = graph_.binding(id, "step");
    if (event.step.empty()) event.step = graph_.edge(id).rule->name;
    event.subject = graph_.binding(id, "subject");
    if (event.subject.empty()) event.subject = graph_.path(graph_.edge(id).outputs.front());
    return event;
  }

  [[nodiscard]] std::string record_name(EdgeId id) const {
    return symbolic_path(graph_.path(graph_.edge(id).outputs.front()), options_.machine);
  }

  static std::string joined_text(const std::vector<std::string>& reasons) {
    return fmt::format("{}", fmt::join(reasons, "; "));
  }

  const Graph& graph_;
  const BuildPorts& ports_;
  const BuildOptions& options_;
  Plan plan_;
  Lookup lookup_;
  BuildSummary summary_;
  std::unordered_map<EdgeId, Running> found_;      // queued and running edges
  std::unordered_map<Digest, EdgeId> paying_;      // running actions by declared key
  std::unordered_map<Digest, ActionResult> paid_;  // those that ran in this build
  int running_ = 0;                                // commands
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

Result<BuildSummary> build(const Graph& graph, const std::vector<NodeId>& targets,
                           const BuildPorts& ports, const BuildOptions& options) {
  if (auto cycle = graph.find_cycle(targets)) return bad_input("dependency cycle: " + *cycle);
  return Build(graph, targets, ports, options).run();
}

Result<std::vector<Pending>> explain(const Graph& graph, const std::vector<NodeId>& targets,
                                     Lookup& lookup, BlobStore& blobs) {
  if (auto cycle = graph.find_cycle(targets)) return bad_input("dependency cycle: " + *cycle);
  std::vector<Pending> pending;
  Plan plan(graph, targets);
  while (auto next = plan.next_ready()) {
    EdgeId id = *next;
    plan.finish(id);
    const Edge& edge = graph.edge(id);
    bool is_known = true;
    for (NodeId input : edge.content_inputs()) is_known = is_known && lookup.knows(input);
    if (edge.is_phony()) {
      if (!is_known) continue;
      Digest digest = phony_digest(graph, edge, lookup, id);
      for (NodeId output : edge.outputs) lookup.set_digest(output, digest);
      continue;
    }
    if (!is_known) {
      pending.push_back({id, false, {}});
      continue;
    }
    auto finding = lookup.find(id);
    if (!finding) return std::move(finding).error();
    bool is_hit = finding->result && finding->result->outputs.size() == edge.outputs.size();
    for (size_t i = 0; is_hit && i < edge.outputs.size(); ++i) {
      auto is_there = blobs.contains(finding->result->outputs[i]);
      if (!is_there) return std::move(is_there).error();
      is_hit = *is_there;
    }
    if (!is_hit) {
      auto reasons = lookup.reasons(id, *finding);
      if (!reasons) return std::move(reasons).error();
      pending.push_back({id, true, *std::move(reasons)});
      continue;
    }
    for (size_t i = 0; i < edge.outputs.size(); ++i) {
      lookup.set_digest(edge.outputs[i], finding->result->outputs[i]);
    }
  }
  return pending;
}

}  // namespace evolve
