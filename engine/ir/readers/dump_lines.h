// The lines of one of libtpu's dumps without their comments, which nest and go on over lines. Of a
// few comments something stays, for it stands nowhere else (schedule.h says which).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace evolve::ir {

// Where in the source an instruction comes from.
struct SourceLine {
  std::string file;  // as the compiler was told
  uint32_t line = 0;
  bool operator==(const SourceLine&) const = default;
  bool operator<(const SourceLine& other) const {
    return std::tie(file, line) < std::tie(other.file, other.line);
  }
};

class DumpLines {
 public:
  // What stays of the comment behind a load of the core's number.
  static constexpr std::string_view kCore = " core id ";

  explicit DumpLines(std::string_view text) : text_(text) {}

  // Goes on to the next line; false at the end.
  bool next();

  [[nodiscard]] std::string_view content() const { return content_; }
  [[nodiscard]] uint32_t number() const { return number_; }
  [[nodiscard]] bool is_in_comment() const { return depth_ > 0; }
  // Whether the end of what was begun is missing.
  [[nodiscard]] bool is_open() const { return is_open_; }

  // Where in the source an instruction, a part of `content`, comes from: a number that counts
  // `sources` from 1; 0 for none.
  [[nodiscard]] uint16_t source_of(std::string_view instruction) const;
  [[nodiscard]] const std::vector<SourceLine>& sources() const { return sources_; }

 private:
  void read_commented();
  void note_comment(std::string_view comment);
  void note_source(std::string_view comment);
  [[nodiscard]] bool is_behind(std::string_view opcode) const;

  std::string_view text_;
  size_t position_ = 0;
  uint32_t line_ = 0;
  uint32_t number_ = 0;
  int depth_ = 0;
  bool is_open_ = false;
  std::string buffer_;
  std::string_view content_;
  // Of this line: where in `content_` a comment with a source stood, and which.
  std::vector<std::pair<size_t, uint16_t>> places_;
  std::vector<SourceLine> sources_;
  std::map<SourceLine, uint16_t> source_numbers_;
};

}  // namespace evolve::ir
