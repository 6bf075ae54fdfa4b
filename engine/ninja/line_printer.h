// A printer of lines: on a terminal each line replaces the line before, and on a pipe each line
// follows the line before.
#pragma once

#include <string>
#include <string_view>

namespace evolve::ninja {

// The abilities of stdout.
struct Terminal {
  bool is_smart = false;  // the cursor can be moved
  bool has_color = false;
};
// Finds the abilities of stdout. TERM, NO_COLOR, CLICOLOR_FORCE and FORCE_COLOR count, too.
Terminal look_at_terminal();

enum class Width {
  cut,    // a long line loses its middle
  whole,  // a long line is printed whole, and the terminal wraps it
};

class LinePrinter {
 public:
  LinePrinter(bool is_smart, bool has_color) : is_smart_(is_smart), has_color_(has_color) {}

  // Prints a status line in place of the last one.
  void print(const std::string& line, Width width);
  // Prints a text as it is, on the line after the status line.
  void print_on_new_line(std::string_view text);
  // Between lock() and unlock() a command has the terminal, and printed text waits.
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

// Returns the text with "..." in place of its middle if it is wider than `width` columns. Color
// codes take no room and are kept.
std::string elide_middle(const std::string& text, size_t width);
// Returns the text without ANSI escape sequences.
std::string without_escapes(std::string_view text);

}  // namespace evolve::ninja
