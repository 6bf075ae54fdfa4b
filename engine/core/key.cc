#include "engine/core/key.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace evolve {

namespace {

void add_framed(Hasher& hasher, std::string_view text) {
  uint64_t size = text.size();
  char frame[8];
  for (int i = 0; i < 8; ++i) frame[i] = static_cast<char>(size >> (8 * i) & 0xff);
  hasher.add(std::string_view(frame, sizeof frame));
  hasher.add(text);
}

// The parts of a word that can be a path: behind "--flag=", say.
size_t path_start(std::string_view word) {
  size_t equals = word.find('=');
  return equals == std::string_view::npos ? 0 : equals + 1;
}

// Rewrites each blank-separated word of a command.
template <typename Rewrite>
std::string rewrite_words(std::string_view command, Rewrite rewrite) {
  std::string out;
  size_t position = 0;
  while (position < command.size()) {
    size_t end = std::min(command.find(' ', position), command.size());
    std::string_view word = command.substr(position, end - position);
    size_t start = path_start(word);
    out += word.substr(0, start);
    out += rewrite(std::string(word.substr(start)));
    if (end < command.size()) out += ' ';
    position = end + 1;
  }
  return out;
}

// What stands in a key for the name of one of the edge's files.
using Roles = std::map<std::string, std::string, std::less<>>;

Roles roles_of(const Graph& graph, EdgeId id) {
  const Edge& edge = graph.edge(id);
  Roles roles;
  for (size_t i = 0; i < edge.inputs.size(); ++i) {
    roles.emplace(graph.path(edge.inputs[i]), fmt::format("{{in{}}}", i));
  }
  for (size_t i = 0; i < edge.outputs.size(); ++i) {
    roles.insert_or_assign(graph.path(edge.outputs[i]), fmt::format("{{out{}}}", i));
  }
  for (const char* name : {"depfile", "rspfile"}) {
    roles.emplace(graph.binding(id, name), fmt::format("{{{}}}", name));
  }
  return roles;
}

std::string brief_value(const std::string& value) {
  if (auto digest = Digest::from_hex(value)) return digest->brief();
  return value;
}

std::string part_label(const KeyPart& part) {
  return part.name.empty() ? part.tag : fmt::format("{} '{}'", part.tag, part.name);
}

// For long values, the words that differ alone.
std::string describe_values(const std::string& before, const std::string& after) {
  constexpr size_t kShort = 40;
  if (before.size() <= kShort && after.size() <= kShort) {
    return fmt::format("{} -> {}", brief_value(before), brief_value(after));
  }
  size_t prefix = 0;
  size_t shorter = std::min(before.size(), after.size());
  while (prefix < shorter && before[prefix] == after[prefix]) ++prefix;
  while (prefix > 0 && before[prefix - 1] != ' ') --prefix;
  size_t suffix = 0;
  while (suffix < shorter - prefix &&
         before[before.size() - 1 - suffix] == after[after.size() - 1 - suffix]) {
    ++suffix;
  }
  while (suffix > 0 && before[before.size() - suffix] != ' ') --suffix;
  return fmt::format("'{}' -> '{}'", before.substr(prefix, before.size() - prefix - suffix),
                     after.substr(prefix, after.size() - prefix - suffix));
}

}  // namespace

void KeyWriter::add(std::string tag, std::string name, std::string value) {
  parts_.push_back({std::move(tag), std::move(name), std::move(value)});
}

Digest KeyWriter::key() const {
  Hasher hasher;
  add_framed(hasher, kKeyScheme);
  for (const KeyPart& part : parts_) {
    add_framed(hasher, part.tag);
    add_framed(hasher, part.name);
    add_framed(hasher, part.value);
  }
  return hasher.digest();
}

std::string symbolic_path(const std::string& path, std::span<const MachineBinding> machine) {
  const MachineBinding* longest = nullptr;
  for (const MachineBinding& binding : machine) {
    bool is_prefix = !binding.value.empty() && path.starts_with(binding.value) &&
                     (path.size() == binding.value.size() || path[binding.value.size()] == '/');
    if (is_prefix && (longest == nullptr || binding.value.size() > longest->value.size())) {
      longest = &binding;
    }
  }
  if (longest == nullptr) return path;
  return fmt::format("${}{}", longest->name, path.substr(longest->value.size()));
}

KeyWriter write_key(const Graph& graph, EdgeId id, const InputDigests& inputs,
                    std::span<const MachineBinding> machine) {
  const Edge& edge = graph.edge(id);
  const bool is_portable = graph.binding(id, "portable") == "1";
  const Roles roles = is_portable ? roles_of(graph, id) : Roles{};
  auto rename = [&](const std::string& path) {
    auto role = roles.find(path);
    return role != roles.end() ? role->second : symbolic_path(path, machine);
  };
  KeyWriter key;
  key.add("rule", "", std::string(edge.rule->name));
  // What a generator's command says is the generator's business, as in Ninja.
  if (graph.binding(id, "generator").empty()) {
    key.add("command", "", rewrite_words(graph.binding(id, "command"), rename));
  }
  auto content = edge.content_inputs();
  for (size_t i = 0; i < content.size(); ++i) {
    key.add("input", rename(graph.path(content[i])), inputs.content[i].hex());
  }
  for (NodeId output : edge.outputs) key.add("output", rename(graph.path(output)), "");
  for (const auto& [name, value] : inputs.environment) key.add("environment", name, value);
  for (const char* name : {"toolchain", "rspfile_content"}) {
    std::string value = graph.binding(id, name);
    if (!value.empty()) key.add(name, "", rewrite_words(value, rename));
  }
  return key;
}

std::vector<std::string> describe_changes(std::span<const KeyPart> before,
                                          std::span<const KeyPart> after) {
  auto find = [](std::span<const KeyPart> parts, const KeyPart& like) -> const KeyPart* {
    auto it = std::find_if(parts.begin(), parts.end(), [&](const KeyPart& part) {
      return part.tag == like.tag && part.name == like.name;
    });
    return it == parts.end() ? nullptr : &*it;
  };
  std::vector<std::string> changes;
  for (const KeyPart& part : after) {
    const KeyPart* old = find(before, part);
    if (old == nullptr) {
      changes.push_back(part_label(part) + " is new");
    } else if (old->value != part.value) {
      changes.push_back(
          fmt::format("{}: {}", part_label(part), describe_values(old->value, part.value)));
    }
  }
  for (const KeyPart& part : before) {
    if (find(after, part) == nullptr) changes.push_back(part_label(part) + " is gone");
  }
  return changes;
}

}  // namespace evolve
