#include "engine/world/process/words.h"

#include <algorithm>
#include <array>

namespace evolve::world {

namespace {

// The reserved words and built-in utilities of POSIX and dash. If /bin also has a program of that
// name, the shell's own version may behave differently (echo does).
constexpr std::array<std::string_view, 55> kShellWords = {
    ".",     ":",       "[",        "alias",   "bg",     "break",    "case",   "cd",
    "chdir", "command", "continue", "do",      "done",   "echo",     "elif",   "else",
    "esac",  "eval",    "exec",     "exit",    "export", "false",    "fc",     "fg",
    "fi",    "for",     "function", "getopts", "hash",   "if",       "in",     "jobs",
    "kill",  "local",   "printf",   "pwd",     "read",   "readonly", "return", "set",
    "shift", "source",  "test",     "then",    "time",   "times",    "trap",   "true",
    "type",  "ulimit",  "umask",    "unalias", "unset",  "until",    "wait"};

bool needs_shell(char c) {
  return std::string_view("|&;<>()$`*?[]#~%!{}\n").find(c) != std::string_view::npos;
}

// The splitter of one line. Each of its states is a function.
class Splitter {
 public:
  explicit Splitter(std::string_view line) : rest_(line) {}

  std::optional<std::vector<std::string>> split() {
    while (!rest_.empty()) {
      const char c = take();
      bool is_plain = true;
      if (c == ' ' || c == '\t') {
        end_word();
      } else if (c == '\'') {
        is_plain = single_quoted();
      } else if (c == '"') {
        is_plain = double_quoted();
      } else if (c == '\\') {
        is_plain = !rest_.empty() && rest_.front() != '\n';
        if (is_plain) append(take());
      } else {
        is_plain = !needs_shell(c);
        append(c);
      }
      if (!is_plain) return std::nullopt;
    }
    end_word();
    return std::move(words_);
  }

 private:
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  void append(char c) {
    word_ += c;
    in_word_ = true;
  }
  void end_word() {
    if (in_word_) words_.push_back(std::move(word_));
    word_.clear();
    in_word_ = false;
  }
  bool single_quoted() {
    const size_t end = rest_.find('\'');
    if (end == std::string_view::npos) return false;
    word_ += rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    in_word_ = true;
    return true;
  }
  bool double_quoted() {
    in_word_ = true;
    while (!rest_.empty()) {
      char c = take();
      if (c == '"') return true;
      if (c == '$' || c == '`') return false;
      // Here a backslash quotes only special characters, and otherwise stands for itself.
      const bool quotes =
          c == '\\' && !rest_.empty() &&
          std::string_view("$`\"\\\n").find(rest_.front()) != std::string_view::npos;
      if (quotes) c = take();
      if (quotes && c == '\n') return false;
      word_ += c;
    }
    return false;
  }

  std::string_view rest_;
  std::string word_;
  bool in_word_ = false;
  std::vector<std::string> words_;
};

}  // namespace

std::optional<std::vector<std::string>> split_words(std::string_view line) {
  return Splitter(line).split();
}

std::optional<std::vector<std::string>> plain_command(std::string_view line) {
  auto words = split_words(line);
  if (!words || words->empty() || words->front().empty()) return std::nullopt;
  const std::string& program = words->front();
  const bool is_shells =
      program.find('=') != std::string::npos ||
      std::find(kShellWords.begin(), kShellWords.end(), program) != kShellWords.end();
  if (is_shells) return std::nullopt;
  return words;
}

}  // namespace evolve::world
