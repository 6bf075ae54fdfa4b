// A manifest and its plan, for tests of the order of edges.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/build/plan.h"
#include "engine/graph/manifest.h"
#include "tests/catch.h"

namespace evolve {

using Names = std::vector<std::string>;

struct Asked {
  Names targets = {};  // none: the default targets
  std::map<std::string, double> costs = {};
  Resources capacity = {};
};

// The graph of a manifest, which already has the rule "r", and its plan. The name of an edge is its
// first output.
class Planned {
 public:
  explicit Planned(const std::string& manifest, const Asked& asked = {}) {
    const std::string text = "rule r\n  command = r\n" + manifest;
    REQUIRE(parse_manifest(
        "build.ninja", [&](const std::string&) { return Result<std::string>(text); }, graph));
    auto targets = graph.targets(asked.targets);
    REQUIRE(targets);
    BuildPlan::Cost cost;
    if (!asked.costs.empty()) {
      cost = [this, costs = asked.costs](EdgeId id) {
        auto it = costs.find(name(id));
        return it == costs.end() ? std::nullopt : std::optional(it->second);
      };
    }
    made_.emplace(graph, *targets, cost, asked.capacity);
  }

  Graph graph;

  BuildPlan& plan() { return *made_; }
  [[nodiscard]] EdgeId edge(const std::string& output) const {
    return graph.node(*graph.find_node(output)).made_by.value();
  }
  [[nodiscard]] std::string name(EdgeId id) const {
    return graph.path(graph.edge(id).outputs.front());
  }
  std::vector<NodeId> nodes(const Names& paths) {
    std::vector<NodeId> out;
    for (const std::string& path : paths) out.push_back(graph.node(path));
    return out;
  }
  EdgeState state(const std::string& output) { return plan().state(edge(output)); }

  Names ready() {
    Names out;
    for (EdgeId id : plan().all_ready()) out.push_back(name(id));
    return out;
  }
  // Returns the edge that would be looked up next; empty: no edge.
  std::string next() {
    auto id = plan().next_ready();
    return id ? name(*id) : "";
  }
  void queue_all() {
    for (EdgeId id : plan().all_ready()) plan().queue(id);
  }
  // Starts the next edge of the queue, and returns its name; empty: no edge has room.
  std::string start(BuildPlan::Where where = BuildPlan::Where::anywhere) {
    auto id = plan().next_queued(where);
    if (!id) return "";
    plan().run(*id);
    return name(*id);
  }
  void finish(const std::string& output) { plan().finish(edge(output)); }
  void fail(const std::string& output) { plan().fail(edge(output)); }
  // Finishes one edge after another, each time the first edge that is ready. Returns the edges'
  // names.
  Names order() {
    Names out;
    while (auto id = plan().next_ready()) {
      out.push_back(name(*id));
      plan().finish(*id);
    }
    return out;
  }

  // Lets the edge find late that it needs the files. Returns "waits", "goes on", or the error.
  std::string wait_for(const std::string& output, const Names& files) {
    auto waits = plan().wait_for(edge(output), nodes(files));
    if (!waits) return waits.error().message;
    return *waits ? "waits" : "goes on";
  }
  // Adds these files to the edge's outputs. Returns the error; empty: no error.
  std::string learn(const std::string& output, const Names& files) {
    const std::vector<NodeId> outputs = nodes(files);
    REQUIRE(graph.extend_edge(edge(output), outputs, {}));
    auto status = plan().learn_makers(outputs);
    return status ? "" : status.error().message;
  }

 private:
  std::optional<BuildPlan> made_;
};

}  // namespace evolve
