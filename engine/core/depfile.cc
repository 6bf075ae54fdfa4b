#include "engine/core/depfile.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/core/path.h"

namespace evolve {

namespace {

// Words of a depfile: "\ " and "\#" and "$$" are escapes, "\<newline>" is a blank.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  // Takes the next word of this logical line. False at the line's end.
  bool next(std::string& word) {
    word.clear();
    while (true) {
      if (at_continuation()) {
        position_ = text_.find('\n', position_) + 1;
      } else if (peek() == ' ' || peek() == '\t') {
        ++position_;
      } else {
        break;
      }
    }
    while (position_ < text_.size() && !is_end()) word += take_char();
    return !word.empty();
  }
  // Goes to the next line. False at the end of the text.
  bool next_line() {
    while (position_ < text_.size() && (peek() == '\n' || peek() == '\r')) ++position_;
    return position_ < text_.size();
  }

 private:
  [[nodiscard]] char peek(size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }
  [[nodiscard]] bool at_continuation() const {
    return peek() == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'));
  }
  [[nodiscard]] bool is_end() const {
    return peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r' || at_continuation();
  }
  char take_char() {
    bool is_escape = (peek() == '\\' && (peek(1) == ' ' || peek(1) == '#' || peek(1) == ':')) ||
                     (peek() == '$' && peek(1) == '$');
    if (is_escape) ++position_;
    return text_[position_++];
  }

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace

std::string depfile_text(const std::string& output, const std::vector<std::string>& inputs) {
  auto escaped = [](std::string_view path) {
    std::string out;
    for (char c : path) {
      if (c == ' ' || c == '#') out += '\\';
      if (c == '$') out += '$';
      out += c;
    }
    return out;
  };
  std::string out = escaped(output) + ":";
  for (const std::string& input : inputs) out += " " + escaped(input);
  return out + "\n";
}

Result<std::vector<std::string>> parse_depfile(std::string_view text, const std::string& path) {
  std::vector<std::string> inputs;
  Words words(text);
  while (words.next_line()) {
    bool is_behind_colon = false;
    std::string word;
    while (words.next(word)) {
      if (is_behind_colon) {
        std::string input = canonical_path(word);
        if (std::find(inputs.begin(), inputs.end(), input) == inputs.end()) inputs.push_back(input);
      } else if (word.ends_with(':')) {
        is_behind_colon = true;
      }
    }
    if (!is_behind_colon) return bad_input(fmt::format("{}: expected ':' in depfile", path));
  }
  return inputs;
}

ShownIncludes parse_show_includes(std::string_view output, std::string_view prefix) {
  if (prefix.empty()) prefix = "Note: including file: ";
  auto lower = [](std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return out;
  };
  ShownIncludes shown;
  while (!output.empty()) {
    size_t end = output.find('\n');
    std::string_view line = output.substr(0, end);
    output.remove_prefix(end == std::string_view::npos ? output.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string small = lower(line);
    if (line.starts_with(prefix)) {
      std::string_view path = line.substr(prefix.size());
      path.remove_prefix(std::min(path.find_first_not_of(' '), path.size()));
      const std::string small_path = lower(path);
      bool is_system = small_path.find("program files") != std::string::npos ||
                       small_path.find("microsoft visual studio") != std::string::npos;
      if (!path.empty() && !is_system) shown.inputs.push_back(canonical_path(path));
      continue;
    }
    // The compiler opens with the name of what it compiles.
    bool is_source = shown.inputs.empty() &&
                     (small.ends_with(".c") || small.ends_with(".cc") || small.ends_with(".cxx") ||
                      small.ends_with(".cpp") || small.ends_with(".c++"));
    if (!is_source) shown.output += std::string(line) + "\n";
  }
  std::sort(shown.inputs.begin(), shown.inputs.end());
  shown.inputs.erase(std::unique(shown.inputs.begin(), shown.inputs.end()), shown.inputs.end());
  return shown;
}

}  // namespace evolve
