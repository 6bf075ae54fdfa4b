#include "engine/build/command.h"

#include <set>
#include <utility>
#include <vector>

#include "engine/core/path.h"

namespace evolve {

namespace {

// Returns the folders in which the edge's command writes.
std::vector<std::string> folders_of_outputs(const Graph& graph, EdgeId id) {
  std::set<std::string> out;
  for (NodeId output : graph.edge(id).outputs) out.insert(folder_of(graph.path(output)));
  const std::string depfile = graph.binding(id, "depfile", Graph::Quoting::none);
  if (!depfile.empty()) out.insert(folder_of(depfile));
  return {out.begin(), out.end()};
}

// Adds the files that a node stands for: the node's own file, or the files that a phony edge
// groups.
void add_files(const Graph& graph, NodeId node, std::set<std::string>& out) {
  const auto maker = graph.node(node).made_by;
  if (!maker || !graph.edge(*maker).is_phony()) {
    out.insert(graph.path(node));
    return;
  }
  for (NodeId input : graph.edge(*maker).inputs) add_files(graph, input, out);
}

Errand errand_of(const Graph& graph, EdgeId id, const std::string& node_pool, const Digest& key) {
  const Edge& edge = graph.edge(id);
  Errand out;
  out.node_pool = node_pool;
  out.key = key;
  out.subject = graph.extension(id, "step") + " " + graph.extension(id, "subject");
  std::set<std::string> surroundings;
  for (NodeId input : edge.inputs) {
    const auto maker = graph.node(input).made_by;
    const bool is_content = &input < edge.content_inputs().data() + edge.content_inputs().size();
    if (is_content && (!maker || !graph.edge(*maker).is_phony())) {
      out.inputs.push_back(graph.path(input));
    } else {
      add_files(graph, input, surroundings);
    }
  }
  for (const std::string& path : out.inputs) surroundings.erase(path);
  out.surroundings.assign(surroundings.begin(), surroundings.end());
  for (NodeId output : edge.outputs) out.outputs.push_back(graph.path(output));
  out.depfile = graph.binding(id, "depfile", Graph::Quoting::none);
  out.toolchain = graph.extension(id, "toolchain");
  return out;
}

}  // namespace

Result<Command> command_of(const Graph& graph, EdgeId id, const ActionKeys& keys,
                           const std::map<std::string, std::string>& environment,
                           const Placement& placement, const Digest& key) {
  const Extensions& extensions = graph.extensions(id);
  Command out;
  out.id = static_cast<uint64_t>(index(id));
  out.line = graph.binding(id, "command");
  TRY(graph.check_length(id, "command", out.line));
  out.worker = graph.extension(id, "worker");
  out.arguments = graph.extension(id, "arguments");
  if (!placement.is_elsewhere) out.environment = environment;
  for (const auto& [name, value] : keys.environment(id)) out.environment[name] = value;
  for (const auto& [name, value] : keys.secrets(id)) out.environment[name] = value;
  out.timeout_seconds = extensions.timeout_seconds;
  out.console = graph.binding(id, "pool") == "console";
  out.is_sandboxed = extensions.is_sandboxed;
  if (out.is_sandboxed) out.writable = folders_of_outputs(graph, id);
  if (placement.is_elsewhere) out.errand = errand_of(graph, id, extensions.node_pool, key);
  return out;
}

}  // namespace evolve
