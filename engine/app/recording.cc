#include "engine/app/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace evolve {

namespace {

// The prefix of a recorded path whose source does not lie below the project's root.
constexpr const char* kOutside = "$outside";

std::string recorded_path(const std::string& symbolic) {
  const bool is_outside = symbolic.starts_with("/") || symbolic.starts_with("../");
  if (!is_outside) return recorded_name(symbolic);
  return recorded_name(kOutside + std::filesystem::absolute(symbolic).lexically_normal().string());
}

// Returns the edges that a node needs and that are not in `known`, in the manifest's order, and
// adds them to `known`.
std::vector<EdgeId> edges_beyond(std::vector<bool>& known, const Graph& graph, NodeId target) {
  std::vector<EdgeId> out;
  std::vector<NodeId> open = {target};
  while (!open.empty()) {
    const auto maker = graph.node(open.back()).made_by;
    open.pop_back();
    if (!maker || known[index(*maker)]) continue;
    known[index(*maker)] = true;
    out.push_back(*maker);
    const Edge& edge = graph.edge(*maker);
    open.insert(open.end(), edge.inputs.begin(), edge.inputs.end());
    open.insert(open.end(), edge.validations.begin(), edge.validations.end());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Status begin_build(State& state, const std::string& campaign,
                   const std::vector<std::string>& targets, const std::string& toolchain) {
  return state.ledger->begin_build({.started = state.clock.utc(),
                                    .campaign = campaign,
                                    .targets = fmt::format("{}", fmt::join(targets, " ")),
                                    .toolchain = toolchain});
}

Status end_build(State& state, const Result<BuildSummary>& summary) {
  std::map<std::string, cache::Tally> by_step;
  if (!summary) {
    const bool is_interrupted = summary.error().code == ErrorCode::interrupted;
    return state.ledger->end_build(is_interrupted ? "interrupted" : "failed", by_step);
  }
  for (const auto& [step, its] : summary->by_step) {
    auto count = [&outcomes = its.outcomes](Outcome outcome) {
      auto found = outcomes.find(outcome);
      return found == outcomes.end() ? 0 : int64_t{found->second};
    };
    by_step[step] = {count(Outcome::ran), count(Outcome::hit) + count(Outcome::joined),
                     count(Outcome::failed), its.spent_seconds, its.saved_seconds};
  }
  return state.ledger->end_build(summary->failed > 0 ? "failed" : "done", by_step);
}

Result<Record> record_of(const Graph& graph, const std::vector<EdgeId>& edges, Lookup& lookup) {
  Record out;
  std::map<std::string, Digest> sources;
  for (EdgeId id : edges) {
    const Edge& edge = graph.edge(id);
    if (edge.is_phony()) continue;
    const auto settled = lookup.snapshot().edge(id);
    const auto discovered = lookup.discovered(id);
    if (!settled || !discovered) {
      return internal_error(
          fmt::format("{}: built, but its key is unknown", lookup.keys().record_name(id)));
    }
    RecordedStep step;
    step.step = graph.extension(id, "step");
    step.subject = graph.extension(id, "subject");
    step.step_class = graph.extensions(id).step_class;
    step.key = settled->key;
    for (NodeId output : edge.outputs) {
      TRY_ASSIGN(auto content, lookup.files().digest(output, id));
      step.outputs.push_back({symbolic_path(graph.path(output), lookup.keys().machine()), content});
    }
    out.steps.push_back(std::move(step));
    std::vector<NodeId> read(edge.content_inputs().begin(), edge.content_inputs().end());
    read.insert(read.end(), discovered->begin(), discovered->end());
    for (NodeId input : read) {
      if (graph.node(input).made_by) continue;
      TRY_ASSIGN(auto content, lookup.files().digest(input, id));
      sources.insert_or_assign(symbolic_path(graph.path(input), lookup.keys().machine()), content);
    }
  }
  for (const auto& [path, content] : sources) out.sources.push_back({recorded_path(path), content});
  return out;
}

Result<int64_t> record_rounds(const Campaign& campaign, const std::string& toolchain, int round,
                              const Graph& graph, Lookup& lookup, State& state) {
  if (round == 0) return 0;  // no round was asked for, so no round need be complete
  // Sources are the user's files and stay as they are, so their blobs are copies.
  cache::FolderBlobStore sources(state.folder + "/blobs", state.files, Sharing::bytes);
  std::vector<bool> earlier(graph.edge_count());
  int64_t before = 0;
  for (int number = 0; number <= round; ++number) {
    const NodeId target = *graph.find_node(fmt::format("round-{}", number));
    TRY_ASSIGN(auto record, record_of(graph, edges_beyond(earlier, graph, target), lookup));
    record.toolchain = toolchain;
    if (number == 0) {
      // Adds the sources that no edge reads.
      for (const std::string& path : campaign.sources()) {
        TRY_ASSIGN(auto content, state.files.digest(path));
        if (content) {
          record.sources.push_back(
              {recorded_path(symbolic_path(path, lookup.keys().machine())), *content});
        }
      }
    }
    for (const RecordedFile& source : record.sources) {
      std::string path = path_of_recorded(source.path);
      if (path.starts_with(kOutside)) path = path.substr(std::string_view(kOutside).size());
      TRY_ASSIGN(auto stored, sources.contains(source.content));
      if (stored) continue;
      TRY(sources.put_file(machine_path(path, lookup.keys().machine()), source.content));
    }
    TRY_ASSIGN(auto id, state.ledger->rounds().add_record(
                            {0, before, campaign.name, number, state.clock.utc(), encode(record)}));
    before = id;
    if (number == 0) continue;
    auto selection =
        state.files.read(fmt::format("{}/round-{}/selection.json", campaign.work, number));
    if (!selection) return std::move(selection).error();
    auto status = state.ledger->rounds().record_selection(campaign.name,
                                                          {number, state.clock.utc(), *selection});
    if (!status) return std::move(status).error();
  }
  return before;
}

}  // namespace evolve
