#include "engine/core/yaml/yaml_source.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/core/text/did_you_mean.h"

namespace evolve {

namespace {

constexpr int kDeepest = 100;
constexpr int kMostNodes = 100000;

struct Problem {
  Position at;
  std::string what;
};

Position position_of(const YAML::Mark& mark) {
  return mark.is_null() ? Position{} : Position{mark.line + 1, mark.column + 1};
}

// Converts yaml-cpp's tree into ours. Throws Problem.
class Converter {
 public:
  YamlNode convert(const YAML::Node& from, Position at, int depth) {
    if (depth > kDeepest) throw Problem{at, fmt::format("more than {} levels", kDeepest)};
    if (++nodes_ > kMostNodes) throw Problem{at, fmt::format("more than {} nodes", kMostNodes)};
    YamlNode node;
    node.at = from.IsNull() ? at : position_of(from.Mark());
    if (from.IsScalar()) {
      node.kind = YamlNode::Kind::scalar;
      node.text = from.Scalar();
      node.is_quoted = from.Tag() == "!";
    } else if (from.IsSequence()) {
      node.kind = YamlNode::Kind::list;
      for (const YAML::Node& item : from) node.items.push_back(convert(item, node.at, depth + 1));
    } else if (from.IsMap()) {
      node.kind = YamlNode::Kind::map;
      convert_entries(from, node, depth);
    }
    return node;
  }

 private:
  void convert_entries(const YAML::Node& from, YamlNode& node, int depth) {
    std::vector<YamlEntry> merged;
    for (const auto& pair : from) {
      Position at = position_of(pair.first.Mark());
      if (!pair.first.IsScalar()) throw Problem{at, "expected a name as key"};
      YamlEntry entry{pair.first.Scalar(), at, convert(pair.second, at, depth + 1)};
      if (entry.key == "<<") {
        collect_merged(entry.value, merged);
        continue;
      }
      for (const YamlEntry& other : node.entries) {
        if (other.key == entry.key) {
          throw Problem{
              at, fmt::format("duplicate key '{}': first on line {}", entry.key, other.at.line)};
        }
      }
      node.entries.push_back(std::move(entry));
    }
    for (YamlEntry& entry : merged) {
      if (node.find(entry.key) == nullptr) node.entries.push_back(std::move(entry));
    }
  }

  static void collect_merged(const YamlNode& from, std::vector<YamlEntry>& out) {
    for (const YamlNode& item : from.items) collect_merged(item, out);
    for (const YamlEntry& entry : from.entries) out.push_back(entry);
  }

  int nodes_ = 0;
};

std::vector<std::string> split_lines(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<std::string> lines(1);
  for (char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  for (std::string& line : lines) {
    if (line.ends_with('\r')) line.pop_back();
  }
  return lines;
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// Splits a line into characters; tabs and control characters become blanks.
std::vector<std::string> characters(const std::string& line) {
  std::vector<std::string> out;
  for (char c : line) {
    if (is_continuation(c) && !out.empty()) {
      out.back() += c;
    } else {
      out.emplace_back(1, static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
    }
  }
  return out;
}

// Returns the line and a caret under the column of `at`, both cut to 72 columns around the caret.
std::string excerpt(const std::string& line, Position at) {
  constexpr size_t kColumns = 72, kBefore = 48;
  auto column = std::min(static_cast<size_t>(std::max(at.column - 1, 0)), line.size());
  size_t caret = characters(line.substr(0, column)).size();
  std::vector<std::string> shown = characters(line);
  std::string start, end;
  if (caret >= kColumns) {
    size_t cut = caret - kBefore;
    shown.erase(shown.begin(), shown.begin() + static_cast<long>(cut));
    caret = kBefore + 3;
    start = "...";
  }
  if (shown.size() + start.size() > kColumns) {
    shown.resize(kColumns - start.size() - 3);
    end = "...";
  }
  std::string text = start;
  for (const std::string& character : shown) text += character;
  return fmt::format("{:5} | {}\n      | {:{}}^", at.line, text + end, "", caret);
}

template <typename Number>
bool parse_all(std::string_view text, Number& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Result<YamlSource> YamlSource::parse(std::string_view text, const std::string& path) {
  YamlSource source;
  source.path_ = path;
  source.lines_ = split_lines(text);
  if (text.find('\0') != std::string_view::npos)
    return source.error_at({}, "broken YAML: contains a zero byte");
  try {
    std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.empty()) return source.error_at({}, "the file is empty");
    if (documents.size() > 1) {
      return source.error_at(position_of(documents[1].Mark()),
                             "a second document ('---'); only one is allowed");
    }
    source.root_ = Converter().convert(documents.front(), {}, 0);
  } catch (const Problem& problem) {
    return source.error_at(problem.at, problem.what);
  } catch (const YAML::Exception& error) {
    Position at = position_of(error.mark);
    size_t tab = source.indenting_tab(at.line);
    if (tab != std::string::npos) {
      return source.error_at({at.line, static_cast<int>(tab) + 1},
                             "broken YAML: the line is indented with a tab; use spaces");
    }
    return source.error_at(at, "broken YAML: " + error.msg);
  } catch (const std::exception& error) {
    return source.error_at({}, fmt::format("broken YAML: {}", error.what()));
  }
  return source;
}

size_t YamlSource::indenting_tab(int line) const {
  if (line < 1 || static_cast<size_t>(line) > lines_.size()) return std::string::npos;
  const std::string& text = lines_[static_cast<size_t>(line) - 1];
  size_t end = text.find_first_not_of(" \t");
  size_t tab = text.find('\t');
  return tab < end ? tab : std::string::npos;
}

std::string YamlSource::notice_at(Position at, const std::string& what) const {
  return fmt::format("{}:{}:{}: {}", path_, at.line, at.column, what);
}

Error YamlSource::error_at(Position at, const std::string& what) const {
  bool is_there = at.line >= 1 && static_cast<size_t>(at.line) <= lines_.size();
  return bad_input(notice_at(at, what),
                   is_there ? excerpt(lines_[static_cast<size_t>(at.line) - 1], at) : "");
}

void YamlErrors::keep(Rank rank, const std::string& what) {
  if (!first_ || rank < first_->first) first_ = {rank, what};
}

Status YamlErrors::status() const {
  if (!first_) return {};
  const auto& [is_missing, line, column] = first_->first;
  return source_.error_at({line, column}, first_->second);
}

YamlMap::YamlMap(YamlErrors& errors, const YamlNode* node, std::string name, Position at)
    : errors_(errors), node_(node), name_(std::move(name)), at_(at) {
  if (node_ == nullptr) return;
  if (node_->kind == YamlNode::Kind::list || node_->kind == YamlNode::Kind::scalar) {
    errors_.add(node_->at, fmt::format("{}expected a map, got {}",
                                       name_.empty() ? "" : name_ + ": ", describe(*node_)));
    node_ = nullptr;
  }
}

bool YamlMap::has(std::string_view key) const {
  return node_ != nullptr && node_->find(key) != nullptr;
}

Position YamlMap::key_at(std::string_view key) const {
  if (node_ == nullptr) return at_;
  for (const YamlEntry& entry : node_->entries) {
    if (entry.key == key) return entry.at;
  }
  return at_;
}

Position YamlMap::value_at(std::string_view key) const {
  return has(key) ? node_->find(key)->at : key_at(key);
}

std::string YamlMap::full_name(std::string_view key) const {
  return name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);
}

const YamlNode* YamlMap::value(std::string_view key, Need need) {
  accept(key);
  const YamlNode* found = node_ == nullptr ? nullptr : node_->find(key);
  if (found == nullptr && need == Need::required) {
    errors_.add_missing(at_, name_.empty() ? fmt::format("missing key '{}'", key)
                                           : fmt::format("missing key '{}' in '{}'", key, name_));
  }
  return found;
}

void YamlMap::expected(std::string_view key, const YamlNode& got, const std::string& what) {
  errors_.add(got.at, fmt::format("{}: expected {}, got {}", full_name(key), what, describe(got)));
}

const YamlNode* YamlMap::scalar(std::string_view key, Need need, const char* kind) {
  const YamlNode* found = value(key, need);
  if (found == nullptr || found->kind == YamlNode::Kind::scalar) return found;
  expected(key, *found, kind);
  return nullptr;
}

void YamlMap::text(std::string_view key, std::string& out, Need need) {
  const YamlNode* found = scalar(key, need, "a text");
  if (found == nullptr) return;
  if (need == Need::required && found->text.empty()) return expected(key, *found, "a text");
  out = found->text;
}

void YamlMap::choice(std::string_view key, std::string& out,
                     const std::vector<std::string>& allowed) {
  const YamlNode* found = scalar(key, Need::optional, "a text");
  if (found == nullptr) return;
  if (std::find(allowed.begin(), allowed.end(), found->text) != allowed.end()) {
    out = found->text;
    return;
  }
  auto near = nearest(found->text, allowed);
  errors_.add(found->at,
              fmt::format("{}: expected {}, got '{}'{}", full_name(key), fmt::join(allowed, " or "),
                          found->text, near ? ", did you mean '" + *near + "'?" : ""));
}

void YamlMap::whole(std::string_view key, int64_t& out, int64_t min, int64_t max, Need need) {
  const YamlNode* found = scalar(key, need, "a whole number");
  if (found == nullptr) return;
  auto number = parse_whole(found->text);
  if (!number) return expected(key, *found, "a whole number");
  if (*number < min || *number > max) {
    const bool is_low = *number < min;
    errors_.add(found->at, fmt::format("{}: expected at {} {}, got {}", full_name(key),
                                       is_low ? "least" : "most", is_low ? min : max, found->text));
    return;
  }
  out = *number;
}

void YamlMap::whole(std::string_view key, int& out, int min, int max, Need need) {
  int64_t wide = out;
  whole(key, wide, int64_t{min}, int64_t{max}, need);
  out = static_cast<int>(wide);
}

void YamlMap::number(std::string_view key, double& out, double min, Need need) {
  const YamlNode* found = scalar(key, need, "a number");
  if (found == nullptr) return;
  auto number = parse_number(found->text);
  if (!number) return expected(key, *found, "a number");
  if (*number < min) {
    errors_.add(found->at,
                fmt::format("{}: expected at least {}, got {}", full_name(key), min, found->text));
    return;
  }
  out = *number;
}

template <typename Value, typename Read>
void YamlMap::list_of(std::string_view key, std::vector<Value>& out, Need need,
                      const char* expected_kind, Read read) {
  const YamlNode* found = list(key, need);
  if (found == nullptr) return;
  out.clear();
  for (const YamlNode& item : found->items) {
    std::optional<Value> one;
    if (item.kind == YamlNode::Kind::scalar) one = read(item.text);
    if (one) {
      out.push_back(*one);
    } else {
      expected(key, item, expected_kind);
    }
  }
}

void YamlMap::texts(std::string_view key, std::vector<std::string>& out, Need need) {
  list_of(key, out, need, "texts",
          [](const std::string& text) { return std::optional<std::string>(text); });
}

void YamlMap::wholes(std::string_view key, std::vector<int64_t>& out, Need need) {
  list_of(key, out, need, "whole numbers",
          [](const std::string& text) { return parse_whole(text); });
}

const YamlNode* YamlMap::map(std::string_view key, Need need) {
  const YamlNode* found = value(key, need);
  if (found == nullptr || found->kind == YamlNode::Kind::map) return found;
  if (found->kind == YamlNode::Kind::null && need == Need::optional) return nullptr;
  expected(key, *found, "a map");
  return nullptr;
}

const YamlNode* YamlMap::list(std::string_view key, Need need) {
  const YamlNode* found = value(key, need);
  if (found == nullptr || found->kind == YamlNode::Kind::list) return found;
  if (found->kind == YamlNode::Kind::null && need == Need::optional) return nullptr;
  expected(key, *found, "a list");
  return nullptr;
}

YamlMap YamlMap::section(std::string_view key, Need need) {
  return {errors_, map(key, need), full_name(key), key_at(key)};
}

void YamlMap::finish() {
  if (node_ == nullptr) return;
  for (const YamlEntry& entry : node_->entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    errors_.add(entry.at,
                fmt::format("unknown key '{}'{}", entry.key, suggestion(entry.key, known_)));
  }
}

std::optional<int64_t> parse_whole(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t out = 0;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    std::string_view digits = text.substr(2);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out, 16);
    bool is_all =
        error == std::errc() && end == digits.data() + digits.size() && digits.front() != '-';
    return is_all ? std::optional(out) : std::nullopt;
  }
  if (parse_all(text, out)) return out;
  auto number = parse_number(text);
  if (!number || *number != std::floor(*number) || std::fabs(*number) > 9007199254740992.0)
    return std::nullopt;
  return static_cast<int64_t>(*number);
}

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double out = 0;
  if (!parse_all(text, out) || !std::isfinite(out)) return std::nullopt;
  return out;
}

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null: return "nothing";
    case YamlNode::Kind::scalar: return fmt::format("'{}'", node.text);
    case YamlNode::Kind::list: return "a list";
    case YamlNode::Kind::map: return "a map";
  }
  return "";
}

}  // namespace evolve
