#include "engine/search/learning/learnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/core/text/lines.h"
#include "engine/core/text/scan.h"
#include "engine/search/variant.h"

namespace evolve::search {

namespace {

enum class Section { none, failures, successes, rejected };

constexpr int kEntryLevel = 3;  // of the headings of entries, as we write them
constexpr std::string_view kEvidence = "Evidence";

char small(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string in_small(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), small);
  return out;
}

// Returns the section that a heading's title names. None: the heading is text.
Section section_of(std::string_view title) {
  static const std::map<std::string, Section, std::less<>> kNames = {
      {"failure patterns", Section::failures},
      {"failures", Section::failures},
      {"failed optimizations", Section::failures},
      {"successful optimizations", Section::successes},
      {"success patterns", Section::successes},
      {"successes", Section::successes},
      {"rejected", Section::rejected}};
  auto it = kNames.find(in_small(title));
  return it == kNames.end() ? Section::none : it->second;
}

const char* name_of(Section section) {
  return section == Section::failures    ? "Failure Patterns"
         : section == Section::successes ? "Successful Optimizations"
                                         : "Rejected";
}

Section section_of(const Learning& learning) {
  if (learning.is_rejected) return Section::rejected;
  return learning.kind == LearningKind::failure ? Section::failures : Section::successes;
}

// The parts of an id: "FP12-gmm" has the kind failure and the number 12.
struct IdParts {
  LearningKind kind;
  int64_t number;
  bool is_long;  // has two letters, so it cannot be another word
};

std::optional<IdParts> id_parts(std::string_view id) {
  constexpr size_t kMostDigits = 9;
  const char letter = id.empty() ? ' ' : small(id[0]);
  if (letter != 'f' && letter != 's') return std::nullopt;
  const bool is_long = id.size() > 1 && small(id[1]) == (letter == 'f' ? 'p' : 'o');
  id.remove_prefix(is_long ? 2 : 1);
  const auto end = std::find_if_not(id.begin(), id.end(), is_digit);
  const auto digits = static_cast<size_t>(end - id.begin());
  if (digits == 0 || digits > kMostDigits) return std::nullopt;
  int64_t number = 0;
  for (char c : id.substr(0, digits)) number = 10 * number + (c - '0');
  id.remove_prefix(digits);
  if (!id.empty() && small(id[0]) >= 'a' && small(id[0]) <= 'z') id.remove_prefix(1);
  const bool is_suffix = id.empty() || (id[0] == '-' && id.size() > 1);
  const bool is_word = std::all_of(id.begin(), id.end(), [](char c) {
    return is_digit(c) || c == '-' || c == '_' || (small(c) >= 'a' && small(c) <= 'z');
  });
  if (!is_suffix || !is_word) return std::nullopt;
  return IdParts{letter == 'f' ? LearningKind::failure : LearningKind::success, number, is_long};
}

struct Heading {
  size_t level = 0;
  std::string id;  // empty: no id
  std::string title;
};

// Removes the separators between an id and its title.
std::string_view without_separators(std::string_view text) {
  constexpr std::array<std::string_view, 4> kSeparators = {":", "- ", "– ", "— "};
  for (bool is_done = false; !is_done;) {
    is_done = true;
    text = without_blanks(text);
    for (std::string_view one : kSeparators) {
      if (!text.starts_with(one)) continue;
      text.remove_prefix(one.size());
      is_done = false;
    }
  }
  return text;
}

// Takes the id off a heading's text: "[FP7] title", "FP1: title", "S003: title". Empty: no id.
std::string take_id(std::string_view& text) {
  std::string_view id;
  size_t taken = 0;
  if (text.starts_with('[')) {
    id = text.substr(1, text.find(']') - 1);
    taken = id.size() + 2;
    if (text.find(']') == std::string_view::npos) return {};
  } else {
    id = text.substr(0, text.find_first_of(": \t"));
    taken = id.size();
  }
  const auto parts = id_parts(id);
  const bool is_marked =
      text.starts_with('[') || text.substr(taken).starts_with(':') || (parts && parts->is_long);
  if (!parts || !is_marked) return {};
  text = without_separators(text.substr(taken));
  return std::string(id);
}

// Returns a heading's text without its closing mark, as in CommonMark: "title" for "title ##".
std::string_view without_closing(std::string_view text) {
  for (;;) {
    const size_t last = text.find_last_not_of('#');
    if (last == std::string_view::npos) return {};
    if (last + 1 == text.size() || text[last] != ' ') return text;
    text = without_end_blanks(text.substr(0, last));
  }
}

std::optional<Heading> heading_of(std::string_view line) {
  constexpr size_t kMostLevel = 6;
  Heading out;
  out.level = std::min(line.find_first_not_of('#'), line.size());
  std::string_view text = line.substr(out.level);
  if (out.level == 0 || out.level > kMostLevel || (!text.empty() && !text.starts_with(' ')))
    return std::nullopt;
  text = without_blanks(text);
  out.id = take_id(text);
  out.title = std::string(without_closing(text));
  return out;
}

// Returns the offset at which the text of a list's item begins in its line. 0: the line is not an
// item.
size_t item_text_at(std::string_view line) {
  const bool is_item = line.size() > 1 &&
                       std::string_view("-*+").find(line[0]) != std::string_view::npos &&
                       (line[1] == ' ' || line[1] == '\t');
  return is_item ? line.find_first_not_of(" \t", 1) : 0;
}

// Reads a field: "- **Name**: text", "**Name:** text", "- **Root causes** (three issues): text".
std::optional<LearningField> field_of(std::string_view line) {
  constexpr std::string_view kBold = "**";
  line.remove_prefix(item_text_at(line));
  const size_t end = line.find(kBold, kBold.size());
  if (!line.starts_with(kBold) || end == std::string_view::npos) return std::nullopt;
  std::string_view name = without_blanks(line.substr(kBold.size(), end - kBold.size()));
  std::string_view rest = without_blanks(line.substr(end + kBold.size()));
  bool has_colon = name.ends_with(':');
  while (name.ends_with(':')) name = without_end_blanks(name.substr(0, name.size() - 1));
  if (!has_colon && rest.starts_with(':')) {
    has_colon = true;
    rest = without_blanks(rest.substr(1));
  } else if (!has_colon && rest.starts_with('(')) {
    const size_t close = std::min(rest.find(')'), rest.size());
    has_colon = without_blanks(rest.substr(std::min(close + 1, rest.size()))).starts_with(':');
  }
  if (!has_colon || name.empty()) return std::nullopt;
  return LearningField{std::string(name), std::string(rest)};
}

// Reads "v0007" or "[v0007](link)".
std::optional<Evidence> evidence_of(std::string_view text) {
  if (const auto variant = VariantId::parse(text)) return Evidence{*variant, ""};
  const size_t middle = text.find("](");
  if (!text.starts_with('[') || !text.ends_with(')') || middle == std::string_view::npos)
    return std::nullopt;
  const auto variant = VariantId::parse(text.substr(1, middle - 1));
  const std::string_view link = text.substr(middle + 2, text.size() - middle - 3);
  if (!variant || link.find_first_of(" ()[]") != std::string_view::npos) return std::nullopt;
  return Evidence{*variant, std::string(link)};
}

// Returns the variants that a field names. Nullopt: the field has other text, too.
std::optional<std::vector<Evidence>> evidence_list(std::string_view text) {
  std::vector<Evidence> out;
  for (bool is_last = false; !is_last;) {
    const size_t comma = text.find(',');
    is_last = comma == std::string_view::npos;
    auto one = evidence_of(without_blanks(text.substr(0, comma)));
    if (!one) return std::nullopt;
    out.push_back(*std::move(one));
    if (!is_last) text.remove_prefix(comma + 1);
  }
  return out;
}

// Moves lists of variants from the fields named "Evidence" to the evidence. Other texts with that
// name stay fields.
void take_evidence(Learning& entry) {
  std::erase_if(entry.fields, [&](const LearningField& field) {
    auto list = field.name == kEvidence ? evidence_list(field.text) : std::nullopt;
    if (!list) return false;
    entry.evidence.insert(entry.evidence.end(), list->begin(), list->end());
    return true;
  });
}

// Returns the run of backticks or tildes that begins or ends a block of code. Empty: the line has
// no such run.
std::string_view fence_mark(std::string_view line) {
  constexpr size_t kLeast = 3;
  line = without_blanks(line);
  if (!line.starts_with("```") && !line.starts_with("~~~")) return {};
  const std::string_view mark =
      line.substr(0, std::min(line.find_first_not_of(line[0]), line.size()));
  const bool is_inline = line.substr(mark.size()).find('`') != std::string_view::npos;
  return mark.size() < kLeast || (mark[0] == '`' && is_inline) ? std::string_view() : mark;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {
    for (std::string_view line : lines_of(text)) {
      read(without_end_blanks(line));
      if (section_ != Section::none && !without_blanks(line).empty()) {
        const auto end = static_cast<size_t>(line.data() + line.size() - text.data());
        ends_[section_] = std::min(text.find('\n', end), text.size() - 1) + 1;
      }
    }
    // Closes a block of code that has no end, because the block would swallow the text that follows
    // it.
    if (!fence_.empty()) add_text(fence_);
    end_entry();
    std::stable_sort(
        out_.entries.begin(), out_.entries.end(),
        [](const Learning& a, const Learning& b) { return section_of(a) < section_of(b); });
  }

  Learnings take() { return std::move(out_); }
  // Returns the offset of the end of the section's last line. Nullopt: the text has no such
  // section.
  [[nodiscard]] std::optional<size_t> end_of(Section section) const {
    auto it = ends_.find(section);
    return it == ends_.end() ? std::nullopt : std::optional(it->second);
  }

 private:
  void read(std::string_view line) {
    if (!fence_.empty()) {
      const std::string_view mark = fence_mark(line);
      if (mark.starts_with(fence_) && without_blanks(line) == mark) fence_.clear();
      std::string& text = entry_ ? entry_->fields.back().text : out_.introduction;
      text += "\n";
      text += line;
      return;
    }
    if (line.empty()) {
      ++blank_lines_;
      return;
    }
    const auto heading = heading_of(line);
    if (heading && read_heading(*heading)) return;
    // A heading within an entry gets a level below the entry's own heading.
    const bool is_inner = heading && entry_;
    const bool is_high = is_inner && heading->level <= kEntryLevel;
    add_text(is_high ? without_end_blanks("#### " + heading->title) : line, is_inner);
    if (!heading) fence_ = fence_mark(line);
  }

  // Reads a heading. Returns false if the heading is text.
  bool read_heading(const Heading& heading) {
    if (!heading.id.empty()) {
      begin_entry(heading, id_parts(heading.id)->kind);
      return true;
    }
    if (const Section named = section_of(heading.title); named != Section::none) {
      end_entry();
      section_ = named;
      return true;
    }
    if (entry_ && heading.level > level_) return false;
    end_entry();
    if (heading.level == 1 && !has_title_ && !heading.title.empty()) {
      has_title_ = true;
      out_.title = heading.title;
      section_ = Section::none;
      return true;
    }
    if (heading.level < kEntryLevel) section_ = Section::none;
    if (section_ == Section::none || heading.title.empty()) return false;
    begin_entry(heading,
                section_ == Section::failures ? LearningKind::failure : LearningKind::success);
    return true;
  }

  void begin_entry(const Heading& heading, LearningKind kind) {
    end_entry();
    entry_ = Learning{heading.id, kind, heading.title};
    entry_->is_rejected = section_ == Section::rejected;
    level_ = heading.level;
  }

  void end_entry() {
    if (entry_) {
      take_evidence(*entry_);
      out_.entries.push_back(*std::move(entry_));
      entry_.reset();
    }
    blank_lines_ = 1;  // a blank line separates the next text
  }

  void add_text(std::string_view line, bool is_heading = false) {
    const size_t blank_lines = std::exchange(blank_lines_, 0);
    if (!entry_) {
      std::string& text = out_.introduction;
      if (!text.empty()) text += blank_lines > 0 ? "\n\n" : "\n";
      text += line;
      return;
    }
    std::vector<LearningField>& fields = entry_->fields;
    const bool is_indented = line[0] == ' ' || line[0] == '\t';
    auto field = is_indented ? std::nullopt : field_of(line);
    if (field) {
      fields.push_back(*std::move(field));
      return;
    }
    const bool is_item = item_text_at(line) > 0 && !fields.empty() && !fields.back().name.empty();
    const bool goes_on = is_indented || (blank_lines == 0 && !is_item && !is_heading);
    if (fields.empty() || !goes_on) {
      fields.push_back({"", std::string(line)});
      return;
    }
    fields.back().text += std::string(blank_lines + 1, '\n');
    fields.back().text += line;
  }

  std::string_view text_;
  Learnings out_;
  bool has_title_ = false;
  Section section_ = Section::none;
  std::optional<Learning> entry_;  // the entry that is being read
  size_t level_ = 0;               // of its heading
  size_t blank_lines_ = 0;         // since the last text
  std::string fence_;              // the mark of the open block of code
  std::map<Section, size_t> ends_;
};

std::string entry_text(const Learning& entry) {
  std::string out = entry.id.empty()      ? fmt::format("### {}\n", entry.title)
                    : entry.title.empty() ? fmt::format("### [{}]\n", entry.id)
                                          : fmt::format("### [{}] {}\n", entry.id, entry.title);
  for (const LearningField& field : entry.fields) {
    const bool goes_on = field.text.empty() || field.text.starts_with('\n');
    if (field.name.empty()) {
      out += fmt::format("{}{}\n", &field == &entry.fields.front() ? "" : "\n", field.text);
    } else {
      out += fmt::format("- **{}**:{}{}\n", field.name, goes_on ? "" : " ", field.text);
    }
  }
  std::vector<std::string> variants;
  variants.reserve(entry.evidence.size());
  for (const Evidence& one : entry.evidence)
    variants.push_back(one.link.empty() ? one.variant.text()
                                        : fmt::format("[{}]({})", one.variant, one.link));
  if (!variants.empty()) out += fmt::format("- **{}**: {}\n", kEvidence, fmt::join(variants, ", "));
  return out;
}

}  // namespace

std::string_view Learning::field(std::string_view name) const {
  for (const LearningField& one : fields) {
    if (one.name == name) return one.text;
  }
  return {};
}

Learnings parse_learnings(std::string_view text) {
  return Parser(text).take();
}

std::string write_learnings(const Learnings& learnings) {
  std::string out = fmt::format("# {}\n", learnings.title);
  if (!learnings.introduction.empty()) out += fmt::format("\n{}\n", learnings.introduction);
  for (const Section section : {Section::failures, Section::successes, Section::rejected}) {
    bool is_first = true;
    for (const Learning& entry : learnings.entries) {
      if (section_of(entry) != section) continue;
      if (std::exchange(is_first, false)) out += fmt::format("\n## {}\n", name_of(section));
      out += "\n" + entry_text(entry);
    }
  }
  return out;
}

std::string with_learning(std::string_view text, const Learning& learning) {
  const Section section = section_of(learning);
  const auto end = Parser(text).end_of(section);
  std::string out(text.substr(0, end.value_or(text.size())));
  if (out.empty()) out = write_learnings({});
  if (!out.ends_with('\n')) out += "\n";
  if (!end) out += fmt::format("\n## {}\n", name_of(section));
  out += "\n" + entry_text(learning);
  const std::string_view rest = text.substr(end.value_or(text.size()));
  if (!rest.empty() && !rest.starts_with('\n') && !rest.starts_with('\r')) out += "\n";
  return out.append(rest);
}

std::string free_id(const std::vector<Learning>& entries, LearningKind kind) {
  std::set<int64_t> taken;
  for (const Learning& one : entries) {
    const auto parts = id_parts(one.id);
    if (parts && parts->kind == kind) taken.insert(parts->number);
  }
  int64_t number = 1;
  while (taken.contains(number)) ++number;
  return fmt::format("{}{:03}", kind == LearningKind::failure ? 'F' : 'S', number);
}

}  // namespace evolve::search
