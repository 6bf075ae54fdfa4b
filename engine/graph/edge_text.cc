#include "engine/graph/edge_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/core/path.h"

namespace evolve {

namespace {

// Bindings whose values become part of a command.
constexpr std::array kOfCommands = {"arguments", "compiled", "cost",  "dumps",
                                    "flags",     "given",    "worker"};

// Escapes the characters in a path that have a meaning for Ninja.
std::string escaped(const std::string& path) {
  std::string out;
  for (char c : path) {
    if (c == '\n') {
      out += "$^";
    } else if (c == '|') {
      out += "${bar}";
    } else {
      if (c == '$' || c == ' ' || c == ':') out += '$';
      out += c;
    }
  }
  return out;
}

// Replaces the machine's paths by their shell words, which a command needs: "$work/x" ->
// "$work_word/x".
std::string with_words(std::string_view value) {
  std::string out;
  while (!value.empty()) {
    const bool is_escape = value.starts_with("$$");
    size_t taken = is_escape ? 2 : 1;
    for (std::string_view name : kMachinePaths) {
      if (is_escape || value.front() != '$' || !value.substr(1).starts_with(name)) continue;
      const std::string_view rest = value.substr(1 + name.size());
      if (rest.empty() || rest.front() == '/' || rest.front() == ' ') taken = 1 + name.size();
    }
    out += value.substr(0, taken);
    if (taken > 2) out += "_word";
    value.remove_prefix(taken);
  }
  return out;
}

}  // namespace

void ManifestText::add(const EdgeText& edge) {
  auto list = [&](const std::vector<std::string>& paths, const char* separator) {
    if (paths.empty()) return;
    text_ += separator;
    for (const std::string& path : paths) {
      text_ += ' ';
      text_ += path.starts_with("$") ? path : escaped(path);
    }
  };
  text_ += "\nbuild";
  list(edge.outputs, "");
  text_ += ": " + edge.rule;
  list(edge.inputs, "");
  list(edge.implicit, " |");
  list(edge.order_only, " ||");
  text_ += '\n';
  if (edge.rule != "phony") text_ += fmt::format("  step = {}\n", edge.rule);
  if (auto pool = node_pools_.find(edge.rule); pool != node_pools_.end()) {
    text_ += fmt::format("  node_pool = {}\n", pool->second);
  }
  for (const auto& [name, value] : edge.bindings) {
    const bool is_of_command =
        std::find(kOfCommands.begin(), kOfCommands.end(), name) != kOfCommands.end();
    text_ += fmt::format("  {} = {}\n", name, is_of_command ? with_words(value) : value);
  }
}

std::string path_word(const std::string& path) {
  return path.starts_with('$') || is_plain_path(path) ? path : shell_word(path);
}

std::string path_value(const std::string& path) {
  std::string out;
  for (char c : path) {
    if (c == '\n') {
      out += "$^";
    } else {
      // Ninja skips blanks at the start of a value, so the first one is escaped.
      if (c == '$' || (c == ' ' && out.empty())) out += '$';
      out += c;
    }
  }
  return out;
}

std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return path_value(out + "'");
}

}  // namespace evolve
