#include "engine/llm/fences.h"

#include <algorithm>
#include <optional>

#include "engine/core/text/lines.h"

namespace evolve::llm {

namespace {

struct Fence {
  char mark = '`';
  size_t length = 0;
  size_t indent = 0;
  std::string_view info;
};

std::optional<Fence> fence_of(std::string_view line) {
  constexpr size_t kShortest = 3;
  Fence out;
  out.indent = std::min(line.find_first_not_of(' '), line.size());
  std::string_view rest = line.substr(out.indent);
  if (rest.empty() || (rest.front() != '`' && rest.front() != '~')) return std::nullopt;
  out.mark = rest.front();
  out.length = std::min(rest.find_first_not_of(out.mark), rest.size());
  out.info = without_blanks(rest.substr(out.length));
  if (out.length < kShortest) return std::nullopt;
  // "```like this```" is code within a line, and not a fence.
  if (out.mark == '`' && out.info.find('`') != std::string_view::npos) return std::nullopt;
  return out;
}

std::string language_of(std::string_view info) {
  std::string out(info.substr(0, info.find_first_of(" \t{,:")));
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

}  // namespace

std::vector<FencedBlock> fenced_blocks(std::string_view text) {
  std::vector<FencedBlock> out;
  std::optional<Fence> open;
  for (std::string_view line : lines_of(text)) {
    const auto fence = fence_of(line);
    if (!open) {
      if (!fence) continue;
      open = fence;
      out.push_back({.language = language_of(fence->info), .is_closed = false});
    } else if (fence && fence->mark == open->mark && fence->length >= open->length &&
               fence->info.empty()) {
      open.reset();
      out.back().is_closed = true;
    } else {
      const size_t indent = std::min(line.find_first_not_of(' '), line.size());
      line.remove_prefix(std::min(indent, open->indent));
      out.back().text.append(line) += '\n';
    }
  }
  return out;
}

std::string fenced(std::string_view text, std::string_view language) {
  size_t longest = 2, run = 0;
  for (char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  std::string out = fence;
  out.append(language).append("\n").append(text);
  if (!text.ends_with('\n')) out += '\n';
  return out + fence;
}

}  // namespace evolve::llm
