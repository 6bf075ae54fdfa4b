#include "engine/llm/template.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/core/text/did_you_mean.h"
#include "engine/core/text/lines.h"

namespace evolve::llm {

namespace {

constexpr std::string_view kSlotOpen = "{{", kSlotClose = "}}";

// A line of a template, to report an error in it.
struct Where {
  const std::string& path;
  size_t line;
  std::string_view text;  // of the line

  [[nodiscard]] Error error(size_t at, const std::string& what) const {
    Error out = bad_input(fmt::format("{}:{}:{}: {}", path, line, at + 1, what),
                          fmt::format("{:5} | {}\n      | {}^", line, text, std::string(at, ' ')));
    out.is_located = true;
    return out;
  }
};

Status check_name(std::string_view name, size_t at, const Where& where) {
  const auto& known = slot_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return {};
  return where.error(at, fmt::format("unknown slot '{}'{}", name, suggestion(name, known)));
}

}  // namespace

const std::vector<std::string>& slot_names() {
  static const std::vector<std::string> kNames = {
      "task",       "spec",   "parent_source", "second_parent_source",
      "bottleneck", "tried",  "rejections",    "inspirations",
      "learnings",  "device", "format",        "diagnosis",
      "plan"};
  return kNames;
}

Result<PromptTemplate> PromptTemplate::parse(std::string_view text, const std::string& path) {
  PromptTemplate out;
  struct Section {
    std::string_view name;
    size_t line;
  };
  std::vector<Section> sections;
  const auto lines = lines_of(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    const Where where{path, i + 1, lines[i]};
    const std::string_view bare = without_blanks(lines[i]);
    const bool is_open = bare.starts_with("{{#"), is_close = bare.starts_with("{{/");
    if (is_open || is_close) {
      const size_t at = lines[i].find(kSlotOpen);
      if (!bare.ends_with(kSlotClose) || bare.find(kSlotOpen, 2) != std::string_view::npos)
        return where.error(at, "a section's line must not have other text");
      const std::string_view name = bare.substr(3, bare.size() - 5);
      TRY(check_name(name, at + 3, where));
      if (is_close && (sections.empty() || sections.back().name != name))
        return where.error(at, fmt::format("section '{}' is not the open section", name));
      if (is_open) sections.push_back({name, i + 1});
      if (is_close) sections.pop_back();
      out.pieces_.push_back({is_open ? Kind::open : Kind::close, std::string(name)});
      continue;
    }
    size_t at = 0;
    while (true) {
      const size_t begin = lines[i].find(kSlotOpen, at);
      out.pieces_.push_back({Kind::text, std::string(lines[i].substr(at, begin - at))});
      if (begin == std::string_view::npos) break;
      const size_t end = lines[i].find(kSlotClose, begin);
      if (end == std::string_view::npos) return where.error(begin, "a slot is not closed by '}}'");
      const std::string_view name = lines[i].substr(begin + 2, end - begin - 2);
      TRY(check_name(name, begin + 2, where));
      out.pieces_.push_back({Kind::slot, std::string(name)});
      at = end + 2;
    }
    out.pieces_.back().text += '\n';
  }
  if (!sections.empty()) {
    const size_t line = sections.back().line;
    return Where{path, line, lines[line - 1]}.error(
        0, fmt::format("section '{}' is not closed", sections.back().name));
  }
  return out;
}

std::string PromptTemplate::fill(const std::map<std::string, std::string>& slots) const {
  auto text_of = [&](const std::string& name) {
    auto it = slots.find(name);
    return it == slots.end() ? std::string_view() : std::string_view(it->second);
  };
  std::string out;
  int left_out = 0;  // sections around the piece that are left out
  for (const Piece& piece : pieces_) {
    if (piece.kind == Kind::open && (left_out > 0 || text_of(piece.text).empty())) {
      ++left_out;
    } else if (piece.kind == Kind::close) {
      left_out = std::max(left_out - 1, 0);
    } else if (left_out == 0 && piece.kind == Kind::text) {
      out += piece.text;
    } else if (left_out == 0 && piece.kind == Kind::slot) {
      out += text_of(piece.text);
    }
  }
  return out;
}

}  // namespace evolve::llm
