#include "engine/core/edge_text.h"

#include <fmt/format.h>

namespace evolve {

namespace {

// Escapes what Ninja gives a meaning to in a path.
std::string escaped(const std::string& path) {
  std::string out;
  for (char c : path) {
    if (c == '$' || c == ' ' || c == ':') out += '$';
    out += c;
  }
  return out;
}

}  // namespace

std::string edge_text(const EdgeText& edge) {
  std::string out;
  auto list = [&](const std::vector<std::string>& paths, const char* separator) {
    if (paths.empty()) return;
    out += separator;
    for (const std::string& path : paths) {
      out += ' ';
      out += path.starts_with("$") ? path : escaped(path);
    }
  };
  out += "\nbuild";
  list(edge.outputs, "");
  out += ": " + edge.rule;
  list(edge.inputs, "");
  list(edge.implicit, " |");
  list(edge.order_only, " ||");
  out += '\n';
  if (edge.rule != "phony") out += fmt::format("  step = {}\n", edge.rule);
  for (const auto& [name, value] : edge.bindings) out += fmt::format("  {} = {}\n", name, value);
  return out;
}

std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '$') out += '$';
    out += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return out + "'";
}

}  // namespace evolve
