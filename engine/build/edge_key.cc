#include "engine/build/edge_key.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

namespace evolve {

namespace {

// Gives the files of one edge the names that they have in its key.
class Names {
 public:
  Names(const Graph& graph, EdgeId id, std::span<const MachineBinding> machine)
      : machine_(machine), is_portable_(graph.extension(id, "portable") == "1") {
    if (!is_portable_) return;
    const Edge& edge = graph.edge(id);
    for (size_t i = 0; i < edge.inputs.size(); ++i) {
      roles_.emplace(graph.path(edge.inputs[i]), fmt::format("{{in{}}}", i));
    }
    for (size_t i = 0; i < edge.outputs.size(); ++i) {
      roles_.insert_or_assign(graph.path(edge.outputs[i]), fmt::format("{{out{}}}", i));
    }
    for (const char* name : {"depfile", "rspfile"}) {
      roles_.emplace(graph.binding(id, name), fmt::format("{{{}}}", name));
    }
  }

  // Returns the name of a file in the key. The name is valid until the next call.
  std::string_view of_path(std::string_view path) {
    if (is_portable_) {
      auto role = roles_.find(path);
      if (role != roles_.end()) return role->second;
    }
    if (!is_machine_path(path, machine_)) return path;
    name_ = symbolic_path(path, machine_);
    return name_;
  }

  void rename(std::string& text) {
    if (is_portable_) {
      text = rewrite_words(text, [&](std::string_view word) { return std::string(of_path(word)); });
    } else {
      text = symbolic_command(std::move(text), machine_);
    }
  }

 private:
  std::span<const MachineBinding> machine_;
  bool is_portable_;
  std::map<std::string, std::string, std::less<>> roles_;
  std::string name_;
};

}  // namespace

void write_key(const Graph& graph, EdgeId id, const InputDigests& inputs,
               std::span<const MachineBinding> machine, KeyWriter& key) {
  const Edge& edge = graph.edge(id);
  Names names(graph, id, machine);
  key.add("rule", "", edge.rule->name);
  // As in Ninja, a change of a generator's command does not run the generator again.
  if (graph.binding(id, "generator").empty()) {
    std::string command = graph.binding(id, "command");
    names.rename(command);
    key.add("command", "", command);
  }
  auto content = edge.content_inputs();
  for (size_t i = 0; i < content.size(); ++i) {
    auto hex = inputs.content[i].hex_digits();
    key.add("input", names.of_path(graph.node(content[i]).path), {hex.data(), hex.size()});
  }
  for (NodeId output : edge.outputs) {
    key.add("output", names.of_path(graph.node(output).path), "");
  }
  for (const auto& [name, value] : inputs.environment) key.add("environment", name, value);
  for (auto& [name, value] : {std::pair("toolchain", graph.extension(id, "toolchain")),
                              {"rspfile_content", graph.binding(id, "rspfile_content")}}) {
    if (value.empty()) continue;
    std::string renamed = value;
    names.rename(renamed);
    key.add(name, "", renamed);
  }
  if (graph.extension(id, "sandbox") == "1") key.add("sandbox", "", "1");
  for (const char* name : {"device_kind", "protocol"}) {
    if (auto value = graph.extension(id, name); !value.empty()) key.add(name, "", value);
  }
}

}  // namespace evolve
