#include "engine/cli/ninja_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/depfile.h"
#include "engine/core/path.h"
#include "engine/core/plan.h"
#include "engine/ninja/messages.h"
#include "engine/ninja/ninja_logs.h"
#include "engine/ninja/record_tools.h"

namespace evolve::cli {

namespace {

using ninja::BuildLog;
using ninja::DepsLog;

class Import {
 public:
  Import(const Graph& graph, Lookup& lookup, Files& files, BuildLog log, DepsLog deps)
      : graph_(graph),
        lookup_(lookup),
        files_(files),
        log_(std::move(log)),
        deps_(std::move(deps)),
        mtimes_(graph.node_count()) {}

  Status run() {
    std::vector<NodeId> all;
    for (size_t i = 0; i < graph_.edge_count(); ++i) {
      all.push_back(graph_.edge(static_cast<EdgeId>(i)).outputs.front());
    }
    if (graph_.find_cycle(all)) return {};  // told by the build
    Plan plan(graph_, all);
    while (auto id = plan.next_ready()) {
      if (auto status = look_at(*id); !status) return status;
      plan.finish(*id);
    }
    return {};
  }

 private:
  // Nullopt: nothing is there.
  std::optional<int64_t> mtime(NodeId node) {
    if (index(node) >= mtimes_.size()) mtimes_.resize(graph_.node_count());
    int64_t& known = mtimes_[index(node)];
    if (known == 0) {
      known = ninja::modification_time(graph_.path(node));
      if (known == 0) known = -1;
    }
    return known < 0 ? std::nullopt : std::optional(known);
  }

  // The newest of the nodes; nullopt where one of them is not there, or not up to date.
  std::optional<int64_t> newest(std::span<const NodeId> nodes) {
    int64_t out = 0;
    for (NodeId node : nodes) {
      if (!lookup_.knows(node)) return std::nullopt;
      auto maker = graph_.node(node).made_by;
      // A group of files is as new as its newest.
      auto time = maker && graph_.edge(*maker).is_phony()
                      ? newest(graph_.edge(*maker).content_inputs())
                      : mtime(node);
      if (!time) return std::nullopt;
      out = std::max(out, *time);
    }
    return out;
  }

  // The paths that the compiler told; nullopt where it is to be asked again.
  std::optional<std::vector<std::string>> told(EdgeId id) {
    const NodeId output = graph_.edge(id).outputs.front();
    if (graph_.binding(id, "deps").empty()) {
      const std::string depfile = graph_.binding(id, "depfile", Graph::Quoting::none);
      if (depfile.empty()) return std::vector<std::string>();
      auto text = files_.read(depfile);
      if (!text) return std::nullopt;
      auto inputs = parse_depfile(*text, depfile);
      return inputs ? std::optional(*std::move(inputs)) : std::nullopt;
    }
    auto logged = deps_.find(graph_.path(output));
    auto time = mtime(output);
    if (logged == deps_.end() || !time || *time > logged->second.mtime) return std::nullopt;
    return logged->second.inputs;
  }

  std::optional<std::vector<NodeId>> discovered(EdgeId id) {
    auto paths = told(id);
    if (!paths) return std::nullopt;
    std::vector<NodeId> out;
    auto declared = graph_.edge(id).content_inputs();
    for (const std::string& path : *paths) {
      const NodeId node = lookup_.node_of(symbolic_path(canonical_path(path), lookup_.machine()));
      if (std::find(declared.begin(), declared.end(), node) == declared.end()) out.push_back(node);
    }
    return out;
  }

  Status look_at(EdgeId id) {
    const Edge& edge = graph_.edge(id);
    auto newest_input = newest(edge.content_inputs());
    if (!newest_input) return {};
    if (edge.is_phony()) return lookup_.settle_phony(id);
    auto found = discovered(id);
    if (!found) return {};
    auto newest_discovered = newest(*found);
    if (!newest_discovered) return {};
    *newest_input = std::max(*newest_input, *newest_discovered);
    const bool is_generator = !graph_.binding(id, "generator").empty();
    const bool keeps_times = is_generator || !graph_.binding(id, "restat").empty();
    std::string command = graph_.binding(id, "command");
    if (std::string content = graph_.binding(id, "rspfile_content"); !content.empty()) {
      command += ";rspfile=" + content;
    }
    for (NodeId output : edge.outputs) {
      auto entry = log_.find(graph_.path(output));
      auto time = mtime(output);
      if (entry == log_.end() || !time) return {};
      if (!is_generator && !ninja::is_hash_of(entry->second.command_hash, command)) return {};
      if (entry->second.mtime < *newest_input) return {};
      if (!keeps_times && *time < *newest_input) return {};
    }
    auto adopted = lookup_.adopt(id, *found);
    if (!adopted) return std::move(adopted).error();
    return {};
  }

  const Graph& graph_;
  Lookup& lookup_;
  Files& files_;
  BuildLog log_;
  DepsLog deps_;
  std::vector<int64_t> mtimes_;  // by node; 0: not looked up, -1: not there
};

}  // namespace

Status import_ninja_logs(const Graph& graph, Lookup& lookup, world::DiskFiles& files) {
  const std::string builddir(graph.root_scope().get("builddir"));
  const std::string folder = builddir.empty() ? "" : builddir + "/";
  auto text = files.read(folder + ".ninja_log");
  if (!text) return {};
  auto log = ninja::parse_build_log(*text);
  if (!log) {
    ninja::print_warning(
        fmt::format("{}.ninja_log: of a version that evolve does not read", folder));
    return {};
  }
  auto bytes = files.read(folder + ".ninja_deps");
  auto deps = bytes ? ninja::parse_deps_log(*bytes) : std::optional(DepsLog());
  return Import(graph, lookup, files, *std::move(log), deps ? *std::move(deps) : DepsLog()).run();
}

}  // namespace evolve::cli
