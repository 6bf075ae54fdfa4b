#include "engine/search/proposal/mutation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/core/text/scan.h"

namespace evolve::search {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// A piece of the source, by byte offsets.
using Span = EvolveBlock;

// Returns the lines of a text without their newlines.
std::vector<Span> line_spans(std::string_view text, Span within) {
  std::vector<Span> out;
  for (size_t begin = within.begin; begin < within.end;) {
    size_t end = std::min(text.find('\n', begin), within.end);
    out.push_back({begin, end});
    begin = end + 1;
  }
  return out;
}

// Returns the string literals of a Python source that span several lines. Their content is not
// code.
std::vector<Span> long_texts(std::string_view source) {
  std::vector<Span> out;
  for (size_t at = 0; at < source.size();) {
    const char c = source[at];
    if (c == '#') at = std::min(source.find('\n', at), source.size());
    if (c != '"' && c != '\'') {
      ++at;
      continue;
    }
    const bool is_long = source.substr(at, 3) == std::string(3, c);
    const std::string_view end = source.substr(at, is_long ? 3 : 1);
    const size_t begin = at;
    for (at += end.size(); at < source.size() && source.substr(at, end.size()) != end; ++at) {
      if (source[at] == '\\') {
        ++at;
      } else if (!is_long && source[at] == '\n') {
        break;
      }
    }
    at = std::min(at + end.size(), source.size());
    if (source.substr(begin, at - begin).find('\n') != std::string_view::npos)
      out.push_back({begin, at});
  }
  return out;
}

// Reads one line from its start.
class LineReader {
 public:
  LineReader(std::string_view source, Span line)
      : source_(source), position_(line.begin), end_(line.end) {}

  void skip_blanks() {
    while (position_ < end_ && is_blank(source_[position_])) ++position_;
  }
  bool take(std::string_view text) {
    if (source_.substr(position_, end_ - position_).substr(0, text.size()) != text) return false;
    position_ += text.size();
    return true;
  }
  [[nodiscard]] char peek() const { return position_ < end_ ? source_[position_] : '\n'; }
  Span take_while_value() {
    Span value{position_, position_};
    while (position_ < end_ && source_[position_] != '#') ++position_;
    value.end = position_;
    while (value.end > value.begin && is_blank(source_[value.end - 1])) --value.end;
    return value;
  }

 private:
  std::string_view source_;
  size_t position_;
  size_t end_;
};

// Returns the value's place in a line `name = value` or `name: int = value`. Nullopt: the line has
// another form.
std::optional<Span> assigned(std::string_view source, Span line, const std::string& name) {
  LineReader reader(source, line);
  reader.skip_blanks();
  if (!reader.take(name) || is_word_character(reader.peek())) return std::nullopt;
  reader.skip_blanks();
  if (reader.take(":")) {
    reader.skip_blanks();
    if (!reader.take("int")) return std::nullopt;
    reader.skip_blanks();
  }
  if (!reader.take("=") || reader.peek() == '=') return std::nullopt;
  reader.skip_blanks();
  return reader.take_while_value();
}

std::optional<int64_t> whole_number(std::string_view text) {
  std::string digits;
  for (char c : text) {
    if (c != '_') digits += c;  // Python's 1_000
  }
  return to_number<int64_t>(digits);
}

struct Assignment {
  Span place;  // of the value
  int64_t value = 0;
};

Result<Assignment> find_assignment(std::string_view source, Span block, const std::string& name) {
  std::optional<Span> place;
  int matches = 0;
  const std::vector<Span> texts = long_texts(source);
  auto is_text = [&](const Span& line) {
    return std::any_of(texts.begin(), texts.end(), [&](const Span& text) {
      return text.begin < line.begin && line.begin < text.end;
    });
  };
  for (const Span& line : line_spans(source, block)) {
    if (is_text(line)) continue;
    if (auto found = assigned(source, line, name)) {
      ++matches;
      place = found;
    }
  }
  if (matches == 0)
    return bad_input(fmt::format("the EVOLVE block has no line '{} = <whole number>'", name));
  if (matches > 1)
    return bad_input(fmt::format("the EVOLVE block assigns '{}' {} times", name, matches));
  std::string_view text = source.substr(place->begin, place->end - place->begin);
  auto value = whole_number(text);
  if (!value) return bad_input(fmt::format("'{} = {}': expected a whole number", name, text));
  return Assignment{*place, *value};
}

}  // namespace

Result<EvolveBlock> find_block(std::string_view source) {
  std::optional<Span> start, end;
  for (const Span& line : line_spans(source, {0, source.size()})) {
    std::string_view text = source.substr(line.begin, line.end - line.begin);
    if (text.find(kBlockStart) != std::string_view::npos) start = line;
    if (text.find(kBlockEnd) != std::string_view::npos) end = line;
  }
  if (!start) return bad_input(fmt::format("no EVOLVE block: no line contains '{}'", kBlockStart));
  if (!end) return bad_input(fmt::format("no EVOLVE block: no line contains '{}'", kBlockEnd));
  if (end->begin <= start->begin) return bad_input("the EVOLVE block ends before it starts");
  return EvolveBlock{std::min(start->end + 1, source.size()), end->begin};
}

Result<Point> read_parameters(std::string_view source, const std::vector<std::string>& names) {
  TRY_ASSIGN(auto block, find_block(source));
  Point point;
  for (const std::string& name : names) {
    TRY_ASSIGN(auto assignment, find_assignment(source, block, name));
    point[name] = assignment.value;
  }
  return point;
}

Result<std::string> write_parameters(std::string_view source, const Point& point) {
  std::string out(source);
  for (const auto& [name, value] : point) {
    TRY_ASSIGN(auto block, find_block(out));
    TRY_ASSIGN(auto assignment, find_assignment(out, block, name));
    if (assignment.value == value) continue;
    const Span& place = assignment.place;
    out.replace(place.begin, place.end - place.begin, std::to_string(value));
  }
  return out;
}

std::string without_parameters(std::string_view source, const std::vector<std::string>& names) {
  std::string out(source);
  for (const std::string& name : names) {
    auto block = find_block(out);
    auto assignment = find_assignment(out, block ? *block : Span{0, out.size()}, name);
    if (!assignment) continue;
    const Span& place = assignment->place;
    out.replace(place.begin, place.end - place.begin, "?");
  }
  return out;
}

}  // namespace evolve::search
