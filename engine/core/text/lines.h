// The splitting of texts that people and models write into lines, and the removal of blanks.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace evolve {

// Returns the lines without their ends (LF or CR LF). A newline at the end of the text does not
// begin another line.
inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out.push_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

constexpr std::string_view kBlanks = " \t\r\n\f\v";

inline std::string_view without_end_blanks(std::string_view line) {
  const size_t last = line.find_last_not_of(kBlanks);
  return line.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

inline std::string_view without_blanks(std::string_view line) {
  line = without_end_blanks(line);
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  return line;
}

// Returns the start of a text: at most `most` bytes, cut between characters.
inline std::string_view start_of(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most);
}

// Returns the text that consists of all lines, each with a newline.
template <typename Lines>
std::string joined(const Lines& lines) {
  std::string out;
  for (const auto& line : lines) {
    out += line;
    out += '\n';
  }
  return out;
}

}  // namespace evolve
