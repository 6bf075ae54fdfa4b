#include "engine/report/table.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "engine/report/terminal.h"

namespace evolve {

namespace {

constexpr size_t kGap = 2;
constexpr size_t kNarrowest = 12;

bool begins_character(char c) {
  return (c & 0xc0) != 0x80;
}

// Returns the number of columns that a text takes on a terminal: one for each code point.
size_t width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

// Returns the byte at which a text's character number `count` begins, or the text's end.
size_t byte_of(const std::string& text, size_t count) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (begins_character(text[at]) && count-- == 0) return at;
  }
  return at;
}

// Splits a text into lines of at most `most` columns, broken at blanks where there are any.
std::vector<std::string> wrapped(std::string text, size_t most) {
  std::vector<std::string> out;
  while (width(text) > most) {
    const size_t end = byte_of(text, most);
    const size_t blank = text.rfind(' ', end);
    const bool has_blank = blank != std::string::npos && blank > 0;
    out.push_back(text.substr(0, has_blank ? blank : end));
    text.erase(0, has_blank ? blank + 1 : end);
  }
  out.push_back(std::move(text));
  return out;
}

// Narrows the widest columns until a row fits, or until no column is wider than kNarrowest.
std::vector<size_t> fitting(std::vector<size_t> widths, size_t indent, size_t columns) {
  if (columns == 0 || widths.empty()) return widths;
  const auto row = [&] {
    return indent + std::accumulate(widths.begin(), widths.end(), size_t{0}) +
           kGap * (widths.size() - 1);
  };
  while (row() > columns) {
    auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kNarrowest) break;
    --*widest;
  }
  return widths;
}

// Returns the width in columns of the terminal that stdout is, from $COLUMNS or the terminal; 0:
// stdout is not a terminal.
size_t stdout_columns() {
  if (::isatty(STDOUT_FILENO) == 0) return 0;
  size_t columns = 0;
  if (const char* said = std::getenv("COLUMNS"); said != nullptr) {
    const char* end = said + std::strlen(said);
    const auto [stop, error] = std::from_chars(said, end, columns);
    if (error == std::errc() && stop == end && columns > 0) return columns;
  }
  return static_cast<size_t>(terminal_columns(STDOUT_FILENO));
}

}  // namespace

std::string table(const Rows& rows, const std::string& indent) {
  return table(rows, indent, stdout_columns());
}

std::string table(const Rows& rows, const std::string& indent, size_t columns) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  widths = fitting(std::move(widths), indent.size(), columns);
  std::string out;
  for (const auto& row : rows) {
    std::vector<std::vector<std::string>> cells;
    size_t height = 1;
    for (size_t i = 0; i < row.size(); ++i) {
      cells.push_back(wrapped(row[i], widths[i]));
      height = std::max(height, cells.back().size());
    }
    for (size_t at = 0; at < height; ++at) {
      std::string line = indent;
      for (size_t i = 0; i < cells.size(); ++i) {
        const std::string text = at < cells[i].size() ? cells[i][at] : "";
        line += text + std::string(widths[i] - width(text) + kGap, ' ');
      }
      while (line.ends_with(' ')) line.pop_back();
      out += line + "\n";
    }
  }
  return out;
}

}  // namespace evolve
