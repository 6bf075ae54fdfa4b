#include "engine/ninja/line_printer.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "engine/core/text/scan.h"

namespace evolve::ninja {

namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) != "0";
}

// Returns the length of the color code ("\x1b[…m") at `at`; 0: no color code there.
size_t color_code_at(std::string_view text, size_t at) {
  if (text.substr(at, 2) != "\x1b[") return 0;
  size_t end = text.find_first_not_of("0123456789;", at + 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 - at : 0;
}

}  // namespace

Terminal look_at_terminal() {
  const char* term = std::getenv("TERM");
  Terminal terminal;
  terminal.is_smart =
      ::isatty(STDOUT_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
  const bool is_refused = is_set("NO_COLOR");
  terminal.has_color = (terminal.is_smart && !is_refused) ||
                       (!is_refused && is_set("CLICOLOR_FORCE")) || is_set("FORCE_COLOR");
  return terminal;
}

void LinePrinter::write(std::string_view text) {
  if (is_locked_) {
    held_text_ += text;
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
}

void LinePrinter::print(const std::string& line, Width width) {
  if (is_locked_) {
    held_line_ = line;
    held_width_ = width;
    return;
  }
  if (is_smart_ && width == Width::cut) {
    winsize size = {};
    bool is_known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    write("\r");
    write(is_known ? elide_middle(line, size.ws_col) : line);
    write("\x1B[K");
    is_at_line_start_ = false;
  } else {
    if (is_smart_) write("\r");
    write(line);
    write("\n");
  }
  std::fflush(stdout);
}

void LinePrinter::print_on_new_line(std::string_view text) {
  if (is_locked_ && !held_line_.empty()) {
    held_text_ += held_line_ + "\n";
    held_line_.clear();
  }
  if (!is_at_line_start_) write("\n");
  write(text);
  is_at_line_start_ = text.empty() || text.ends_with('\n');
  if (!is_locked_) std::fflush(stdout);
}

void LinePrinter::lock() {
  if (is_locked_) return;
  print_on_new_line("");
  is_locked_ = true;
}

void LinePrinter::unlock() {
  if (!is_locked_) return;
  is_locked_ = false;
  print_on_new_line(std::exchange(held_text_, {}));
  if (!held_line_.empty()) print(std::exchange(held_line_, {}), held_width_);
}

std::string elide_middle(const std::string& text, size_t width) {
  if (text.size() <= width) return text;
  // The position of each visible column in the text.
  std::vector<size_t> columns;
  for (size_t at = 0; at < text.size();) {
    if (size_t code = color_code_at(text, at)) {
      at += code;
    } else {
      columns.push_back(at++);
    }
  }
  if (columns.size() <= width) return text;
  const size_t dots = width < 3 ? width : 3;
  const size_t left = (width - dots) / 2, right = width - dots - left;
  std::string out = text.substr(0, columns[left]);
  // Color codes right before the first removed column belong to the removed part.
  while (left > 0 && out.size() > columns[left - 1] + 1) out.pop_back();
  if (left == 0) out.clear();
  const size_t gap_begin = out.size();
  const size_t gap_end = right == 0 ? text.size() : columns[columns.size() - right];
  out.append("...", dots);
  for (size_t at = gap_begin; at < gap_end;) {
    size_t code = color_code_at(text, at);
    out += text.substr(at, code);
    at += code == 0 ? 1 : code;
  }
  return out + text.substr(gap_end);
}

std::string without_escapes(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      out += text[i];
      continue;
    }
    if (i + 1 >= text.size()) break;
    if (text[i + 1] != '[') continue;
    for (i += 2; i < text.size() && !is_letter(text[i]); ++i) {
    }
  }
  return out;
}

}  // namespace evolve::ninja
