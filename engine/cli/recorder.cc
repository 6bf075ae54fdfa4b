#include "engine/cli/recorder.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "engine/core/plan.h"

namespace evolve::cli {

namespace {

// Of a source that does not lie below the project's root.
constexpr const char* kOutside = "$outside";

std::string recorded_path(const std::string& symbolic) {
  const bool is_outside = symbolic.starts_with("/") || symbolic.starts_with("../");
  if (!is_outside) return symbolic;
  return kOutside + std::filesystem::absolute(symbolic).lexically_normal().string();
}

// The edges that a round needs, in the manifest's order.
std::vector<EdgeId> edges_of_round(const Graph& graph, int round) {
  const std::vector<NodeId> targets = {*graph.find_node(fmt::format("round-{}", round))};
  Plan plan(graph, targets);
  return plan.wanted_edges();
}

}  // namespace

Status Recorder::record(const EdgeRecord& record) {
  if (record.outcome != Outcome::failed) {
    ActionResult result = record.result;
    result.parts.clear();
    result.output.clear();
    results_.insert_or_assign(record.output, std::move(result));
  }
  return ledger_.record(record);
}

Result<Record> record_of(const Graph& graph, const std::vector<EdgeId>& edges, Lookup& lookup,
                         const std::map<std::string, ActionResult>& results) {
  Record out;
  std::map<std::string, Digest> sources;
  for (EdgeId id : edges) {
    const Edge& edge = graph.edge(id);
    if (edge.is_phony()) continue;
    auto result = results.find(lookup.record_name(id));
    if (result == results.end()) {
      return internal_error(fmt::format("{}: built, and not known", lookup.record_name(id)));
    }
    RecordedStep step;
    step.step = graph.extension(id, "step");
    step.subject = graph.extension(id, "subject");
    auto extensions = extensions_of(graph, id);
    if (!extensions) return std::move(extensions).error();
    step.step_class = extensions->step_class;
    step.key = result->second.key;
    for (size_t i = 0; i < edge.outputs.size(); ++i) {
      step.outputs.push_back({symbolic_path(graph.path(edge.outputs[i]), lookup.machine()),
                              result->second.outputs[i]});
    }
    out.steps.push_back(std::move(step));
    std::vector<NodeId> read(edge.content_inputs().begin(), edge.content_inputs().end());
    for (const std::string& path : result->second.discovered) {
      if (!is_binding(path, lookup.machine())) read.push_back(lookup.node_of(path));
    }
    for (NodeId input : read) {
      if (graph.node(input).made_by) continue;
      auto content = lookup.digest(input, id);
      if (!content) return std::move(content).error();
      sources.insert_or_assign(symbolic_path(graph.path(input), lookup.machine()), *content);
    }
  }
  for (const auto& [path, content] : sources) out.sources.push_back({recorded_path(path), content});
  return out;
}

Status record_rounds(const Campaign& campaign, const std::string& toolchain, int round,
                     const Graph& graph, Lookup& lookup, const Recorder& recorder, State& state) {
  if (round == 0) return {};  // no round was asked for, and none need be whole
  // Sources are the user's, and stay as they are: their blobs are copies.
  cache::FolderBlobStore sources(state.folder + "/blobs", state.files, Sharing::bytes);
  std::set<EdgeId> earlier;
  int64_t before = 0;
  for (int number = 0; number <= round; ++number) {
    std::vector<EdgeId> edges;
    for (EdgeId id : edges_of_round(graph, number)) {
      if (earlier.insert(id).second) edges.push_back(id);
    }
    auto record = record_of(graph, edges, lookup, recorder.results());
    if (!record) return std::move(record).error();
    record->toolchain = toolchain;
    if (number == 0) {
      // Of what no edge says that it reads it.
      for (const std::string& path : campaign.sources()) {
        auto content = state.files.digest(path);
        if (!content) return std::move(content).error();
        if (*content) {
          record->sources.push_back(
              {recorded_path(symbolic_path(path, lookup.machine())), **content});
        }
      }
    }
    for (const RecordedFile& source : record->sources) {
      std::string path = source.path;
      if (path.starts_with(kOutside)) path = path.substr(std::string_view(kOutside).size());
      auto stored = sources.contains(source.content);
      if (!stored) return std::move(stored).error();
      if (*stored) continue;
      auto status = sources.put_file(machine_path(path, lookup.machine()), source.content);
      if (!status) return status;
    }
    auto id = state.ledger->add_record(
        {0, before, campaign.name, number, state.clock.utc(), encode(*record)});
    if (!id) return std::move(id).error();
    before = *id;
    if (number == 0) continue;
    auto selection =
        state.files.read(fmt::format("{}/round-{}/selection.json", campaign.work, number));
    if (!selection) return std::move(selection).error();
    auto status =
        state.ledger->record_round(campaign.name, {number, state.clock.utc(), *selection});
    if (!status) return status;
  }
  return {};
}

}  // namespace evolve::cli
