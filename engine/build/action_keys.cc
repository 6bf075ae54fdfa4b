#include "engine/build/action_keys.h"

#include <fmt/format.h>

#include "engine/core/text/words.h"

namespace evolve {

ActionKeys::Variables ActionKeys::environment(EdgeId edge) const {
  Variables out;
  for (const std::string& name : words_in(graph_.extension(edge, "environment"))) {
    auto it = context_.environment.find(name);
    out.emplace_back(name, it == context_.environment.end() ? "" : it->second);
  }
  return out;
}

ActionKeys::Variables ActionKeys::secrets(EdgeId edge) const {
  Variables out;
  for (const std::string& name : words_in(graph_.extension(edge, "secrets"))) {
    auto it = context_.environment.find(name);
    if (it != context_.environment.end()) out.emplace_back(*it);
  }
  return out;
}

Status ActionKeys::read_inputs(EdgeId id) {
  inputs_.content.clear();
  for (NodeId input : graph_.edge(id).content_inputs()) {
    TRY_ASSIGN(auto input_digest, files_.digest(input, id));
    inputs_.content.push_back(input_digest);
  }
  inputs_.environment = environment(id);
  return {};
}

Result<KeyWriter> ActionKeys::declared(EdgeId id) {
  TRY(read_inputs(id));
  KeyWriter key;
  write_key(graph_, id, inputs_, context_.machine, key);
  return key;
}

Result<KeyWriter> ActionKeys::declared_after(EdgeId id, const KeyWriter& before,
                                             std::span<const std::string> discovered) {
  return files_.forget_folders(id, discovered) ? declared(id) : before;
}

Result<KeyWriter> ActionKeys::full(EdgeId edge, const KeyWriter& declared,
                                   std::span<const std::string> discovered) {
  KeyWriter full = declared;
  for (const std::string& path : discovered) {
    auto value = files_.discovered_value(files_.discovered_node(path));
    if (!value) {
      return std::move(value).error().within(graph_.path(graph_.edge(edge).outputs[0]));
    }
    full.add("discovered", path, *value);
  }
  return full;
}

Result<Digest> ActionKeys::quick(EdgeId id, std::span<const NodeId> discovered) {
  TRY(read_inputs(id));
  quick_.clear();
  write_key(graph_, id, inputs_, context_.machine, quick_);
  for (NodeId node : discovered) {
    TRY_ASSIGN(auto part, files_.discovered_part(node));
    quick_.add(part);
  }
  return quick_.key();
}

Status ActionKeys::rekey(EdgeId id, ActionResult& result) {
  TRY_ASSIGN(auto without, declared(id));
  TRY_ASSIGN(auto with, full(id, without, result.discovered));
  result.declared_key = without.key();
  result.key = with.key();
  result.parts = with.parts();
  return {};
}

std::string ActionKeys::record_name(EdgeId id) const {
  return symbolic_path(graph_.node(graph_.edge(id).outputs.front()).path, context_.machine);
}

std::string ActionKeys::with_paths(EdgeId id, std::string text) const {
  const Edge& edge = graph_.edge(id);
  auto replace = [&](const char* kind, std::span<const NodeId> nodes) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      const std::string role = fmt::format("{{{}{}}}", kind, i);
      const std::string path = symbolic_path(graph_.node(nodes[i]).path, context_.machine);
      for (size_t at = text.find(role); at != std::string::npos;
           at = text.find(role, at + path.size())) {
        text.replace(at, role.size(), path);
      }
    }
  };
  replace("in", edge.inputs);
  replace("out", edge.outputs);
  return text;
}

}  // namespace evolve
