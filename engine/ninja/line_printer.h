// Lines on a terminal, each over the one before, or on a pipe, one below the other.
#pragma once

#include <string>
#include <string_view>

namespace evolve::ninja {

// What stdout is.
struct Terminal {
  bool is_smart = false;  // a cursor can be moved on it
  bool has_color = false;
};
// Looks at stdout and at TERM, NO_COLOR, CLICOLOR_FORCE and FORCE_COLOR.
Terminal look_at_terminal();

enum class Width {
  cut,    // a long line loses its middle
  whole,  // and is wrapped by the terminal
};

class LinePrinter {
 public:
  LinePrinter(bool is_smart, bool has_color) : is_smart_(is_smart), has_color_(has_color) {}

  // Prints a status line in place of the last one.
  void print(const std::string& line, Width width);
  // Prints a text as it is, behind the status line.
  void print_on_new_line(std::string_view text);
  // Between these two a command has the terminal, and what is printed waits.
  void lock();
  void unlock();
  [[nodiscard]] bool has_color() const { return has_color_; }

 private:
  void write(std::string_view text);

  bool is_smart_;
  bool has_color_;
  bool is_at_line_start_ = true;
  bool is_locked_ = false;
  std::string held_line_;
  Width held_width_ = Width::cut;
  std::string held_text_;
};

// The text with its middle replaced by "..." where it is wider than `width` columns; color codes
// take no room and are kept.
std::string elide_middle(const std::string& text, size_t width);
// The text without ANSI escape sequences.
std::string without_escapes(std::string_view text);

}  // namespace evolve::ninja
