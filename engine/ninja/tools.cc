#include "engine/ninja/tools.h"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "engine/core/path.h"
#include "engine/core/text/did_you_mean.h"
#include "engine/graph/dyndep.h"
#include "engine/ninja/browse.h"
#include "engine/ninja/clean.h"
#include "engine/ninja/compdb.h"
#include "engine/ninja/messages.h"
#include "engine/ninja/record_tools.h"
#include "engine/ninja/tool_options.h"

namespace evolve::ninja {

namespace {

using Arguments = std::vector<std::string>;

void warn_of(const Status& status) {
  if (!status) print_warning(status.error().message + "\n");
}

void print_lines(const std::vector<std::string>& lines, char end) {
  for (const std::string& line : lines) {
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fputc(end, stdout);
  }
}

// ---- query

void print_maker(const Graph& graph, const Edge& edge) {
  fmt::print("  input: {}\n", edge.rule->name);
  for (size_t i = 0; i < edge.inputs.size(); ++i) {
    const char* label = i >= edge.content_inputs().size()    ? "|| "
                        : i >= edge.explicit_inputs().size() ? "| "
                                                             : "";
    fmt::print("    {}{}\n", label, graph.node(edge.inputs[i]).path);
  }
  if (edge.validations.empty()) return;
  fmt::print("  validations:\n");
  for (NodeId node : edge.validations) fmt::print("    {}\n", graph.node(node).path);
}

int query(const ToolContext& context, const Arguments& arguments) {
  const Graph& graph = context.graph;
  if (arguments.empty()) {
    print_error("expected a target to query");
    return 1;
  }
  for (const std::string& name : arguments) {
    auto node = find_target(graph, name);
    if (!node) return print_failure(node.error());
    fmt::print("{}:\n", graph.node(*node).path);
    if (auto maker = graph.node(*node).made_by) {
      warn_of(load_dyndep_of(context, *maker));
      print_maker(graph, graph.edge(*maker));
    }
    fmt::print("  outputs:\n");
    graph.for_each_user(*node, [&](EdgeId user) {
      for (NodeId out : graph.edge(user).outputs) fmt::print("    {}\n", graph.node(out).path);
    });
    bool is_first = true;
    for (size_t i = 0; i < graph.edge_count(); ++i) {
      const Edge& edge = graph.edge(static_cast<EdgeId>(i));
      for (NodeId validation : edge.validations) {
        if (validation != *node) continue;
        if (is_first) fmt::print("  validation for:\n");
        is_first = false;
        for (NodeId out : edge.outputs) fmt::print("    {}\n", graph.node(out).path);
      }
    }
  }
  return 0;
}

// ---- targets

void print_tree(const Graph& graph, std::span<const NodeId> nodes, int depth, int indent) {
  for (NodeId node : nodes) {
    fmt::print("{:{}}{}", "", 2 * indent, graph.node(node).path);
    auto maker = graph.node(node).made_by;
    if (!maker) {
      fmt::print("\n");
      continue;
    }
    const Edge& edge = graph.edge(*maker);
    fmt::print(": {}\n", edge.rule->name);
    if (depth != 1) print_tree(graph, edge.inputs, depth - 1, indent + 1);
  }
}

void print_sources(const Graph& graph) {
  for (size_t i = 0; i < graph.edge_count(); ++i) {
    for (NodeId input : graph.edge(static_cast<EdgeId>(i)).inputs) {
      if (!graph.node(input).made_by) fmt::print("{}\n", graph.node(input).path);
    }
  }
}

void print_outputs_of_rule(const Graph& graph, const std::string& rule) {
  std::set<std::string_view> paths;
  for (size_t i = 0; i < graph.edge_count(); ++i) {
    const Edge& edge = graph.edge(static_cast<EdgeId>(i));
    if (edge.rule->name != rule) continue;
    for (NodeId output : edge.outputs) paths.insert(graph.node(output).path);
  }
  for (std::string_view path : paths) fmt::print("{}\n", path);
}

void print_all_outputs(const Graph& graph) {
  for (size_t i = 0; i < graph.edge_count(); ++i) {
    const Edge& edge = graph.edge(static_cast<EdgeId>(i));
    for (NodeId output : edge.outputs) {
      fmt::print("{}: {}\n", graph.node(output).path, edge.rule->name);
    }
  }
}

int targets(const ToolContext& context, const Arguments& arguments) {
  const Graph& graph = context.graph;
  int depth = 1;
  const std::string mode = arguments.empty() ? "depth" : arguments[0];
  const std::string detail = arguments.size() > 1 ? arguments[1] : "";
  if (mode == "rule" && detail.empty()) {
    print_sources(graph);
    return 0;
  }
  if (mode == "rule") {
    print_outputs_of_rule(graph, detail);
    return 0;
  }
  if (mode == "all") {
    print_all_outputs(graph);
    return 0;
  }
  if (mode != "depth") {
    const std::vector<std::string> known = {"rule", "depth", "all"};
    auto near = nearest_within(mode, known, kNinjaEdits);
    print_error(fmt::format("unknown target tool mode '{}'{}", mode,
                            near ? fmt::format(", did you mean '{}'?", *near) : ""));
    return 1;
  }
  if (!detail.empty()) depth = std::atoi(detail.c_str());
  auto roots = graph.root_nodes();
  if (!roots) return print_failure(roots.error());
  // A depth of 0 or less means no limit, because it never counts down to 1.
  print_tree(graph, *roots, std::max(depth, 0), 0);
  return 0;
}

// ---- commands, inputs

class EdgeWalk {
 public:
  explicit EdgeWalk(const Graph& graph) : graph_(graph), seen_(graph.edge_count()) {}

  // Calls `visit` for the edge that makes the node, after the edges that make its inputs; each edge
  // once.
  template <typename Visit>
  void run(NodeId node, bool with_inputs, Visit visit) {
    auto maker = graph_.node(node).made_by;
    if (!maker || seen_[index(*maker)]) return;
    seen_[index(*maker)] = true;
    const Edge& edge = graph_.edge(*maker);
    if (with_inputs) {
      for (NodeId input : edge.inputs) run(input, true, visit);
    }
    visit(*maker, edge);
  }

 private:
  const Graph& graph_;
  std::vector<bool> seen_;
};

int commands(const ToolContext& context, const Arguments& arguments) {
  bool is_single = false;
  auto rest = read_tool_flags(arguments, {{'s', &is_single}});
  if (!rest) {
    fmt::print(
        "usage: ninja -t commands [options] [targets]\n\noptions:\n"
        "  -s     only print the final command to build [target], not the whole chain\n");
    return 1;
  }
  auto nodes = find_targets(context.graph, *rest);
  if (!nodes) return print_failure(nodes.error());
  EdgeWalk walk(context.graph);
  for (NodeId node : *nodes) {
    walk.run(node, !is_single, [&](EdgeId id, const Edge& edge) {
      if (!edge.is_phony()) fmt::print("{}\n", context.graph.binding(id, "command"));
    });
  }
  return 0;
}

// The inputs that a target needs, each after its own inputs, without the outputs of phony edges.
class InputWalk {
 public:
  explicit InputWalk(const Graph& graph) : graph_(graph), seen_(graph.node_count()) {}

  void run(NodeId node) {
    auto maker = graph_.node(node).made_by;
    if (!maker) return;
    for (NodeId input : graph_.edge(*maker).inputs) {
      if (seen_[index(input)]) continue;
      seen_[index(input)] = true;
      run(input);
      auto made_by = graph_.node(input).made_by;
      if (!made_by || !graph_.edge(*made_by).is_phony()) found_.push_back(input);
    }
  }
  [[nodiscard]] std::vector<std::string> paths(bool is_quoted) const {
    std::vector<std::string> out;
    for (NodeId node : found_) {
      std::string& path = out.emplace_back();
      if (is_quoted) {
        append_shell_quoted(graph_.node(node).path, path);
      } else {
        path = graph_.node(node).path;
      }
    }
    return out;
  }

 private:
  const Graph& graph_;
  std::vector<bool> seen_;
  std::vector<NodeId> found_;
};

int inputs(const ToolContext& context, const Arguments& arguments) {
  bool is_quoted = true, is_sorted = true;
  char end = '\n';
  auto rest = read_tool_options(arguments, "h0Ed",
                                {{"help", no_argument, nullptr, 'h'},
                                 {"no-shell-escape", no_argument, nullptr, 'E'},
                                 {"print0", no_argument, nullptr, '0'},
                                 {"dependency-order", no_argument, nullptr, 'd'}},
                                [&](int option, const char*) {
                                  if (option == 'd') is_sorted = false;
                                  if (option == 'E') is_quoted = false;
                                  if (option == '0') end = '\0';
                                  return option == 'd' || option == 'E' || option == '0';
                                });
  if (!rest) {
    fmt::print(
        "Usage '-t inputs [options] [targets]\n\n"
        "List all inputs used for a set of targets, sorted in dependency order.\n"
        "Note that by default, results are shell escaped, and sorted alphabetically,\n"
        "and never include validation target paths.\n\nOptions:\n"
        "  -h, --help          Print this message.\n"
        "  -0, --print0            Use \\0, instead of \\n as a line terminator.\n"
        "  -E, --no-shell-escape   Do not shell escape the result.\n"
        "  -d, --dependency-order  Sort results by dependency order.\n");
    return 1;
  }
  auto nodes = find_targets(context.graph, *rest);
  if (!nodes) return print_failure(nodes.error());
  InputWalk walk(context.graph);
  for (NodeId node : *nodes) walk.run(node);
  auto paths = walk.paths(is_quoted);
  if (is_sorted) std::sort(paths.begin(), paths.end());
  print_lines(paths, end);
  return 0;
}

int multi_inputs(const ToolContext& context, const Arguments& arguments) {
  char end = '\n';
  std::string delimiter = "\t";
  auto rest = read_tool_options(arguments, "d:h0",
                                {{"help", no_argument, nullptr, 'h'},
                                 {"delimiter", required_argument, nullptr, 'd'},
                                 {"print0", no_argument, nullptr, '0'}},
                                [&](int option, const char* value) {
                                  if (option == 'd') delimiter = value;
                                  if (option == '0') end = '\0';
                                  return option == 'd' || option == '0';
                                });
  if (!rest) {
    fmt::print(
        "Usage '-t multi-inputs [options] [targets]\n\n"
        "Print one or more sets of inputs required to build targets, sorted in dependency order.\n"
        "The tool works like inputs tool but with addition of the target for each line.\n"
        "The output will be a series of lines with the following elements:\n"
        "<target> <delimiter> <input> <terminator>\n"
        "Note that a given input may appear for several targets if it is used by more than one "
        "targets.\nOptions:\n"
        "  -h, --help                   Print this message.\n"
        "  -d  --delimiter=DELIM        Use DELIM instead of TAB for field delimiter.\n"
        "  -0, --print0                 Use \\0, instead of \\n as a line terminator.\n");
    return 1;
  }
  auto nodes = find_targets(context.graph, *rest);
  if (!nodes) return print_failure(nodes.error());
  for (NodeId node : *nodes) {
    InputWalk walk(context.graph);
    walk.run(node);
    auto paths = walk.paths(false);
    for (std::string& path : paths) {
      path = fmt::format("{}{}{}", context.graph.node(node).path, delimiter, path);
    }
    print_lines(paths, end);
  }
  return 0;
}

// ---- rules, graph

// Returns a template as it is written in a manifest.
std::string unparsed(Template text) {
  std::string out;
  for (const Piece& piece : text) {
    out += piece.is_variable ? fmt::format("${{{}}}", piece.text) : std::string(piece.text);
  }
  return out;
}

int rules(const ToolContext& context, const Arguments& arguments) {
  bool with_description = false;
  auto rest = read_tool_flags(arguments, {{'d', &with_description}});
  if (!rest) {
    fmt::print(
        "usage: ninja -t rules [options]\n\noptions:\n"
        "  -d     also print the description of the rule\n"
        "  -h     print this message\n");
    return 1;
  }
  for (const auto& [name, rule] : context.graph.root_scope()->rules()) {
    const Rule::Binding* description = rule->find("description");
    bool is_shown = with_description && description != nullptr;
    fmt::print("{}{}\n", name, is_shown ? ": " + unparsed(description->value) : "");
  }
  return 0;
}

void print_edge_as_dot(const Graph& graph, EdgeId id) {
  const Edge& edge = graph.edge(id);
  auto node_name = [](NodeId node) { return fmt::format("n{}", index(node)); };
  if (edge.inputs.size() == 1 && edge.outputs.size() == 1) {
    fmt::print("\"{}\" -> \"{}\" [label=\" {}\"]\n", node_name(edge.inputs[0]),
               node_name(edge.outputs[0]), edge.rule->name);
    return;
  }
  const std::string name = fmt::format("e{}", index(id));
  fmt::print("\"{}\" [label=\"{}\", shape=ellipse]\n", name, edge.rule->name);
  for (NodeId output : edge.outputs) fmt::print("\"{}\" -> \"{}\"\n", name, node_name(output));
  for (size_t i = 0; i < edge.inputs.size(); ++i) {
    fmt::print("\"{}\" -> \"{}\" [arrowhead=none{}]\n", node_name(edge.inputs[i]), name,
               i >= edge.content_inputs().size() ? " style=dotted" : "");
  }
}

int graph_as_dot(const ToolContext& context, const Arguments& arguments) {
  const Graph& graph = context.graph;
  auto nodes = find_targets(graph, arguments);
  if (!nodes) return print_failure(nodes.error());
  fmt::print(
      "digraph ninja {{\nrankdir=\"LR\"\nnode [fontsize=10, shape=box, height=0.25]\n"
      "edge [fontsize=10]\n");
  std::vector<bool> seen_nodes(graph.node_count()), seen_edges(graph.edge_count());
  std::vector<NodeId> open(nodes->rbegin(), nodes->rend());
  while (!open.empty()) {
    NodeId node = open.back();
    open.pop_back();
    if (seen_nodes[index(node)]) continue;
    seen_nodes[index(node)] = true;
    fmt::print("\"n{}\" [label=\"{}\"]\n", index(node), graph.node(node).path);
    auto maker = graph.node(node).made_by;
    if (!maker || seen_edges[index(*maker)]) continue;
    seen_edges[index(*maker)] = true;
    warn_of(load_dyndep_of(context, *maker));
    seen_nodes.resize(graph.node_count());
    print_edge_as_dot(graph, *maker);
    auto next = graph.edge(*maker).inputs;
    open.insert(open.end(), next.rbegin(), next.rend());
  }
  fmt::print("}}\n");
  return 0;
}

int unsupported(const ToolContext&, const Arguments&) {
  return print_fatal("this tool is not supported on this platform");
}

constexpr std::array<Tool, 18> kTools = {{
    {"browse", "browse dependency graph in a web browser", ToolNeeds::manifest, browse},
    {"clean", "clean built files", ToolNeeds::manifest, clean},
    {"commands", "list all commands required to rebuild given targets", ToolNeeds::manifest,
     commands},
    {"inputs", "list all inputs required to rebuild given targets", ToolNeeds::manifest, inputs},
    {"multi-inputs", "print one or more sets of inputs required to build targets",
     ToolNeeds::manifest, multi_inputs},
    {"deps", "show dependencies stored in the deps log", ToolNeeds::records, deps},
    {"missingdeps", "check deps log dependencies on generated files", ToolNeeds::records,
     missing_deps},
    {"graph", "output graphviz dot file for targets", ToolNeeds::manifest, graph_as_dot},
    {"query", "show inputs/outputs for a path", ToolNeeds::records, query},
    {"targets", "list targets by their rule or depth in the DAG", ToolNeeds::manifest, targets},
    {"compdb", "dump JSON compilation database to stdout", ToolNeeds::manifest, compdb},
    {"compdb-targets", "dump JSON compilation database for a given list of targets to stdout",
     ToolNeeds::manifest, compdb_targets},
    {"recompact", "recompacts ninja-internal data structures", ToolNeeds::manifest, recompact},
    {"restat", "restats all outputs in the build log", ToolNeeds::nothing, restat},
    {"rules", "list all rules", ToolNeeds::manifest, rules},
    {"cleandead", "clean built files that are no longer produced by the manifest",
     ToolNeeds::records, clean_dead},
    {"msvc", nullptr, ToolNeeds::nothing, unsupported},
    {"wincodepage", nullptr, ToolNeeds::nothing, unsupported},
}};

}  // namespace

const Tool* find_tool(const std::string& name) {
  auto it = std::find_if(kTools.begin(), kTools.end(),
                         [&](const Tool& tool) { return name == tool.name; });
  return it == kTools.end() ? nullptr : &*it;
}

const std::vector<std::string>& tool_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    out.reserve(kTools.size());
    for (const Tool& tool : kTools) out.emplace_back(tool.name);
    return out;
  }();
  return names;
}

std::string list_tools() {
  std::string out = "ninja subtools:\n";
  for (const Tool& tool : kTools) {
    if (tool.description != nullptr)
      out += fmt::format("{:>11}  {}\n", tool.name, tool.description);
  }
  return out;
}

Status load_dyndep_of(const ToolContext& context, EdgeId id) {
  const auto file = context.graph.edge(id).dyndep;
  if (!file || context.graph.is_dyndep_loaded(*file)) return {};
  const std::string path = context.graph.path(*file);
  auto text = context.load(path);
  if (text) {
    auto outputs = load_dyndep(context.graph, *file, *std::move(text));
    return outputs ? Status{} : std::move(outputs).error();
  }
  context.graph.set_dyndep_loaded(*file);  // reported only once
  return std::move(text).error().within(fmt::format("loading '{}'", path));
}

Result<NodeId> find_target(const Graph& graph, const std::string& name) {
  if (name.empty()) return bad_input("empty path");
  std::string path = canonical_path(name);
  const bool wants_user = path.ends_with('^');
  if (wants_user) path.pop_back();
  auto node = graph.find_node(path);
  std::string_view builddir = graph.root_scope().get("builddir");
  if (!node && !builddir.empty()) node = graph.find_node(fmt::format("{}/{}", builddir, path));
  if (!node) {
    std::string hint;
    if (path == "clean" || path == "help") {
      hint = path == "clean" ? "ninja -t clean" : "ninja -h";
    } else {
      std::vector<std::string> known;
      for (size_t i = 0; i < graph.node_count(); ++i) {
        known.push_back(graph.path(static_cast<NodeId>(i)));
      }
      hint = nearest_within(path, known, kNinjaEdits).value_or("");
    }
    return bad_input(fmt::format("unknown target '{}'{}", path,
                                 hint.empty() ? "" : fmt::format(", did you mean '{}'?", hint)));
  }
  if (!wants_user) return *node;
  std::optional<EdgeId> user;
  graph.for_each_user(*node, [&](EdgeId id) {
    if (!user) user = id;
  });
  if (!user) return bad_input(fmt::format("'{}' has no out edge", path));
  return graph.edge(*user).outputs.front();
}

Result<std::vector<NodeId>> find_targets(const Graph& graph,
                                         const std::vector<std::string>& names) {
  if (names.empty()) return graph.default_targets();
  std::vector<NodeId> out;
  for (const std::string& name : names) {
    TRY_ASSIGN(auto node, find_target(graph, name));
    out.push_back(node);
  }
  return out;
}

}  // namespace evolve::ninja
