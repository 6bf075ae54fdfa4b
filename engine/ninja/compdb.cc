#include "engine/ninja/compdb.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/ninja/messages.h"
#include "engine/ninja/tool_options.h"

namespace evolve::ninja {

namespace {

std::string json_escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '\\': out += "\\\\"; break;
      case '"': out += "\\\""; break;
      default:
        // No JSON library is used, because it would reject the bytes of a path that is not UTF-8.
        if (c >= 0 && c < 0x20) {
          out += fmt::format("\\u{:04x}", c);
        } else {
          out += c;
        }
    }
  }
  return out;
}

// Returns the command with the response file's content in place of "@file", "-f file" or
// "--option-file=file".
std::string expand_response_file(const Graph& graph, EdgeId id, std::string command) {
  std::string file = graph.binding(id, "rspfile", Graph::Quoting::none);
  size_t at = file.empty() ? std::string::npos : command.find(file);
  if (at == std::string::npos || at == 0) return command;
  for (std::string_view opening : {"@", "--option-file=", "-f "}) {
    if (at < opening.size() || command.compare(at - opening.size(), opening.size(), opening) != 0) {
      continue;
    }
    std::string content = graph.binding(id, "rspfile_content");
    std::replace(content.begin(), content.end(), '\n', ' ');
    command.replace(at - opening.size(), opening.size() + file.size(), content);
    return command;
  }
  return command;
}

class DatabasePrinter {
 public:
  DatabasePrinter(const ToolContext& context, bool with_response_files)
      : graph_(context.graph),
        folder_(json_escaped(context.folder)),
        with_response_files_(with_response_files),
        validated_(graph_.node_count()) {
    for (size_t i = 0; i < graph_.edge_count(); ++i) {
      for (NodeId node : graph_.edge(static_cast<EdgeId>(i)).validations) {
        validated_[index(node)] = true;
      }
    }
    fmt::print("[");
  }
  // Prints an entry for each input of the edge. Prints nothing for an edge that makes only
  // validations.
  void print(EdgeId id) {
    const Edge& edge = graph_.edge(id);
    if (edge.inputs.empty() || is_validation_only(edge)) return;
    std::string command = graph_.binding(id, "command");
    if (with_response_files_) command = expand_response_file(graph_, id, std::move(command));
    command = json_escaped(command);
    for (NodeId input : edge.inputs) {
      fmt::print("{}\n  {{\n    \"directory\": \"{}\",\n    \"command\": \"{}\",\n", separator_,
                 folder_, command);
      fmt::print("    \"file\": \"{}\",\n    \"output\": \"{}\"\n  }}",
                 json_escaped(graph_.node(input).path),
                 json_escaped(graph_.node(edge.outputs.front()).path));
      separator_ = ",";
    }
  }
  void end() { fmt::print("\n]\n"); }

 private:
  [[nodiscard]] bool is_validation_only(const Edge& edge) const {
    return std::all_of(edge.outputs.begin(), edge.outputs.end(), [&](NodeId output) {
      return validated_[index(output)] && !graph_.has_users(output);
    });
  }

  const Graph& graph_;
  std::string folder_;
  bool with_response_files_;
  std::vector<bool> validated_;  // by node: some edge names it as a validation
  const char* separator_ = "";
};

}  // namespace

int compdb(const ToolContext& context, const std::vector<std::string>& arguments) {
  bool expands = false;
  auto rules = read_tool_flags(arguments, {{'x', &expands}});
  if (!rules) {
    fmt::print(
        "usage: ninja -t compdb [options] [rules]\n\noptions:\n"
        "  -x     expand @rspfile style response file invocations\n");
    return 1;
  }
  DatabasePrinter printer(context, expands);
  for (size_t i = 0; i < context.graph.edge_count(); ++i) {
    auto id = static_cast<EdgeId>(i);
    if (rules->empty()) printer.print(id);
    for (const std::string& rule : *rules) {
      if (context.graph.edge(id).rule->name == rule) printer.print(id);
    }
  }
  printer.end();
  return 0;
}

int compdb_targets(const ToolContext& context, const std::vector<std::string>& arguments) {
  const Graph& graph = context.graph;
  bool expands = false;
  auto names = read_tool_flags(arguments, {{'x', &expands}});
  if (names && names->empty()) {
    print_error("compdb-targets expects the name of at least one target");
    names.reset();
  }
  if (!names) {
    fmt::print(
        "usage: ninja -t compdb [-hx] target [targets]\n\noptions:\n"
        "  -h     display this help message\n"
        "  -x     expand @rspfile style response file invocations\n");
    return 1;
  }
  std::vector<bool> seen(graph.edge_count());
  std::vector<EdgeId> found;
  auto collect = [&](NodeId node, auto& again) -> void {
    auto maker = graph.node(node).made_by;
    if (!maker || seen[index(*maker)]) return;
    seen[index(*maker)] = true;
    for (NodeId input : graph.edge(*maker).inputs) again(input, again);
    if (!graph.edge(*maker).is_phony()) found.push_back(*maker);
  };
  for (const std::string& name : *names) {
    auto node = find_target(graph, name);
    if (!node) return print_fatal(node.error().message);
    if (!graph.node(*node).made_by) {
      return print_fatal(
          fmt::format("'{}' is not a target (i.e. it is not an output of any `build` statement)",
                      graph.node(*node).path));
    }
    collect(*node, collect);
  }
  DatabasePrinter printer(context, expands);
  for (EdgeId id : found) printer.print(id);
  printer.end();
  return 0;
}

}  // namespace evolve::ninja
