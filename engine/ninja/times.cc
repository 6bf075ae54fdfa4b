#include "engine/ninja/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "engine/build/plan.h"
#include "engine/core/path.h"
#include "engine/graph/depfile.h"

namespace evolve::ninja {

namespace {

// Returns the time in nanoseconds since 1970. The coarse clock is not used, because from Linux 6.13
// on files have fine stamps, and that clock would be behind them.
int64_t now() {
  timespec time = {};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Returns a reason that only Ninja's rule of times gives.
Reason in_words(std::string words) {
  return {.kind = Reason::Kind::other, .words = std::move(words)};
}

Judgement because(Reason reason) {
  Judgement out;
  out.reason = std::move(reason);
  return out;
}

template <typename T>
T& grown_to(std::vector<T>& items, size_t at, size_t size) {
  if (at >= items.size()) items.resize(std::max(at + 1, size));
  return items[at];
}

}  // namespace

Times::Times(const Graph& graph, Lookup& lookup, Files& files, Clock& clock)
    : graph_(graph),
      lookup_(lookup),
      files_(files),
      clock_(clock),
      begun_(clock.monotonic_seconds()),
      logs_(files, graph) {}

Status Times::adopt_all() {
  std::vector<NodeId> all;
  for (size_t i = 0; i < graph_.edge_count(); ++i) {
    all.push_back(graph_.edge(static_cast<EdgeId>(i)).outputs.front());
  }
  if (graph_.find_cycle(all)) return {};  // the build reports it
  BuildPlan plan(graph_, all);
  while (auto id = plan.next_ready()) {
    TRY(adopt(*id));
    plan.finish(*id);
  }
  return {};
}

Result<bool> Times::adopt(EdgeId id) {
  if (graph_.edge(id).is_phony()) {
    Newest newest;
    if (!count_in(graph_.edge(id).content_inputs(), newest)) return false;
    TRY(lookup_.files().settle_phony(id));
    return true;
  }
  TRY_ASSIGN(auto judgement, judge(id, false));
  return judgement.reason ? false : lookup_.adopt(id, judgement);
}

std::optional<int64_t> Times::mtime(NodeId node) {
  int64_t& known = grown_to(mtimes_, index(node), graph_.node_count());
  if (known == 0) {
    known = modification_time(graph_.path(node));
    if (known == 0) known = -1;
  }
  return known < 0 ? std::nullopt : std::optional(known);
}

bool Times::count_in(std::span<const NodeId> nodes, Newest& newest) {
  for (NodeId node : nodes) {
    if (!lookup_.files().knows(node)) return false;
    auto maker = graph_.node(node).made_by;
    auto time = mtime(node);
    // A phony name for a group of files is as new as the newest of these files.
    if (!time && maker && graph_.edge(*maker).is_phony()) {
      if (!count_in(graph_.edge(*maker).content_inputs(), newest)) return false;
      continue;
    }
    if (!time) return false;
    if (*time > newest.mtime) newest = {*time, node};
  }
  return true;
}

std::optional<std::vector<std::string>> Times::told(EdgeId id) {
  const NodeId output = graph_.edge(id).outputs.front();
  if (graph_.binding(id, "deps").empty()) {
    const std::string depfile = graph_.binding(id, "depfile", Graph::Quoting::none);
    if (depfile.empty()) return std::vector<std::string>();
    auto text = files_.read(depfile);
    if (!text) return std::nullopt;
    auto said = parse_depfile(*text);
    return said ? std::optional(std::move(said->inputs)) : std::nullopt;
  }
  const LoggedDeps* logged = logs_.deps(graph_.path(output));
  auto time = mtime(output);
  if (logged == nullptr || !time || *time > logged->mtime) return std::nullopt;
  return logged->inputs;
}

std::optional<std::vector<NodeId>> Times::discovered(EdgeId id) {
  auto paths = told(id);
  if (!paths) return std::nullopt;
  std::vector<NodeId> out;
  auto declared = graph_.edge(id).content_inputs();
  for (const std::string& path : *paths) {
    const NodeId node = lookup_.files().discovered_node(
        symbolic_path(canonical_path(path), lookup_.keys().machine()));
    if (std::find(declared.begin(), declared.end(), node) == declared.end()) out.push_back(node);
  }
  return out;
}

std::string Times::logged_command(EdgeId id) const {
  std::string command = graph_.binding(id, "command");
  if (std::string content = graph_.binding(id, "rspfile_content"); !content.empty()) {
    command += ";rspfile=" + content;
  }
  return command;
}

Result<Judgement> Times::judge(EdgeId id, bool is_unchanged) {
  grown_to(judged_, index(id), graph_.edge_count()) = now();
  Case its{.command = logged_command(id),
           .is_generator = !graph_.binding(id, "generator").empty(),
           .is_restat = !graph_.binding(id, "restat").empty(),
           .is_unchanged = is_unchanged};
  if (!count_in(graph_.edge(id).content_inputs(), its.newest)) {
    return because(in_words("an input is missing"));
  }
  auto found = discovered(id);
  if (!found && is_unchanged) found = lookup_.discovered(id);
  if (!found) return because(in_words("its depfile is missing"));
  if (!count_in(*found, its.newest)) return because(in_words("a discovered input is missing"));
  Judgement out;
  bool is_logged = true;
  for (NodeId output : graph_.edge(id).outputs) {
    const LogEntry* entry = logs_.entry(graph_.path(output));
    if (entry != nullptr && !its.is_generator && !is_hash_of(entry->command_hash, its.command)) {
      if (!is_unchanged) {
        return because({.kind = Reason::Kind::changed,
                        .part = "command",
                        .words = "command: another than is logged"});
      }
      entry = nullptr;
    }
    is_logged = is_logged && entry != nullptr && entry->mtime >= its.newest.mtime;
    if (entry != nullptr) out.seconds = static_cast<float>(entry->end - entry->start) / 1000;
    if (auto reason = why_run(its, output, entry)) return because(*std::move(reason));
  }
  out.discovered = *std::move(found);
  if (!is_logged) log(id, {0, 0, its.newest.mtime, 0}, out.discovered);
  return out;
}

std::optional<Reason> Times::why_run(const Case& its, NodeId output, const LogEntry* entry) {
  if (entry == nullptr && !its.is_generator && !its.is_unchanged)
    return Reason{.kind = Reason::Kind::never_built};
  auto time = mtime(output);
  if (!time) return in_words(fmt::format("output '{}' is missing", graph_.path(output)));
  // For an output that a restat rule left as it was, only the logged time counts.
  const bool goes_by_log = its.is_restat && (entry != nullptr || its.is_unchanged);
  bool is_older = !goes_by_log && *time < its.newest.mtime;
  // An edge that is unchanged by content may have run again after the logged run, without an entry.
  if (entry != nullptr && (its.is_restat || !its.is_unchanged)) {
    is_older = is_older || entry->mtime < its.newest.mtime;
  }
  if (!is_older) return std::nullopt;
  return Reason{.kind = Reason::Kind::other,
                .words = fmt::format("input '{}' is newer", graph_.path(its.newest.node))};
}

Status Times::ran(EdgeId id, const ActionResult& result) {
  constexpr double kMillisecond = 1e-3;
  for (NodeId output : graph_.edge(id).outputs) {
    grown_to(mtimes_, index(output), graph_.node_count()) = 0;
  }
  const double end = clock_.monotonic_seconds() - begun_;
  LogEntry entry;
  entry.start = static_cast<int64_t>(std::max(0.0, end - result.seconds) / kMillisecond);
  entry.end = static_cast<int64_t>(end / kMillisecond);
  entry.mtime = judged_[index(id)];
  std::vector<NodeId> discovered;
  for (const std::string& path : result.discovered) {
    if (!is_binding(path, lookup_.keys().machine()))
      discovered.push_back(lookup_.files().discovered_node(path));
  }
  log(id, entry, discovered);
  return logs_.flush();
}

void Times::log(EdgeId id, LogEntry entry, std::span<const NodeId> discovered) {
  entry.command_hash = command_hash(logs_.log().version, logged_command(id));
  const bool has_deps = !graph_.binding(id, "deps").empty();
  LoggedDeps deps;
  for (NodeId node : discovered) deps.inputs.push_back(graph_.path(node));
  for (NodeId output : graph_.edge(id).outputs) {
    logs_.add(graph_.path(output), entry);
    if (!has_deps) continue;
    deps.mtime = mtime(output).value_or(0);
    logs_.add(graph_.path(output), deps);
  }
}

}  // namespace evolve::ninja
