#include "engine/graph/depfile.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/core/path.h"

namespace evolve {

namespace {

// The words of a depfile, by Ninja's rules (its depfile_parser.in.cc). "\#", "\:" and "$$" are
// escapes. A single backslash and the newline after it are together a blank. An odd number of
// backslashes before a space escape the space and each other. Characters that Ninja does not
// accept, such as ";", are part of a word here, because a path may contain any character. "$^" is a
// newline in a path, as in a manifest. This is safe, because compilers write "$" as "$$".
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  // Takes the next word of this logical line. False at the line's end.
  bool next(std::string& word) {
    word.clear();
    while (true) {
      if (at_continuation()) {
        position_ = text_.find('\n', position_) + 1;
      } else if (is_blank(peek())) {
        ++position_;
      } else {
        break;
      }
    }
    while (take_piece(word)) {
    }
    return !word.empty();
  }
  // Goes to the next line. False at the end of the text.
  bool next_line() {
    while (position_ < text_.size() && (peek() == '\n' || peek() == '\r')) ++position_;
    return position_ < text_.size();
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  [[nodiscard]] char peek(size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }
  [[nodiscard]] bool is_end(size_t ahead) const {
    return position_ + ahead >= text_.size() || is_blank(peek(ahead)) || peek(ahead) == '\n' ||
           peek(ahead) == '\r';
  }
  [[nodiscard]] bool at_continuation() const {
    return peek() == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'));
  }
  // Takes one character, one escape, or a run of backslashes. False at the word's end.
  bool take_piece(std::string& word) {
    if (is_end(0) || at_continuation()) return false;
    if (peek() == '$' && (peek(1) == '$' || peek(1) == '^')) {
      word += peek(1) == '$' ? '$' : '\n';
      position_ += 2;
      return true;
    }
    if (peek() != '\\') {
      word += text_[position_++];
      return true;
    }
    size_t count = 0;
    while (peek(count) == '\\') ++count;
    const char escaped = peek(count);
    size_t kept = count;
    bool is_escape = escaped == '#' || (escaped == ':' && !is_end(count + 1));
    if (is_escape) {
      kept = count - 1;
    } else if (escaped == ' ') {
      is_escape = count % 2 == 1;
      if (is_escape) kept = count / 2;
    }
    word.append(kept, '\\');
    position_ += count;
    if (is_escape) word += text_[position_++];
    return true;
  }

  std::string_view text_;
  size_t position_ = 0;
};

void add_once(std::vector<std::string>& paths, std::string path) {
  if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(std::move(path));
}

}  // namespace

std::string depfile_text(const std::string& output, const std::vector<std::string>& inputs) {
  auto escaped = [](std::string_view path) {
    std::string out;
    size_t backslashes = 0;  // right before `c`
    for (char c : path) {
      if (c == ' ') out.append(backslashes, '\\');
      if (c == ' ' || c == '#') out += '\\';
      if (c == '$' || c == '\n') out += '$';
      out += c == '\n' ? '^' : c;
      backslashes = c == '\\' ? backslashes + 1 : 0;
    }
    return out;
  };
  std::string out = escaped(output) + ":";
  for (const std::string& input : inputs) out += " " + escaped(input);
  return out + "\n";
}

Result<Depfile> parse_depfile(std::string_view text) {
  Depfile depfile;
  bool has_colon = false;
  std::string word;
  for (Words words(text); words.next_line();) {
    bool is_behind_colon = false;
    bool is_input_made = false;  // the rule's output is an input of another rule
    while (words.next(word)) {
      const bool is_input = is_behind_colon;
      if (word.ends_with(':')) {
        word.pop_back();
        is_behind_colon = has_colon = true;
      }
      if (word.empty()) continue;
      if (is_input && is_input_made) return bad_input("inputs may not also have inputs");
      std::string path = canonical_path(word);
      const auto& inputs = depfile.inputs;
      if (is_input) {
        add_once(depfile.inputs, std::move(path));
      } else if (std::find(inputs.begin(), inputs.end(), path) != inputs.end()) {
        is_input_made = true;
      } else {
        add_once(depfile.outputs, std::move(path));
      }
    }
  }
  if (!has_colon && text.find_first_not_of(" \t\r\n") != std::string_view::npos)
    return bad_input("expected ':' in depfile");
  return depfile;
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
    // The compiler first prints the name of the file that it compiles. That line is left out.
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
