// The lines of one of libtpu's dumps without their comments, which nest and continue over lines.
// Parts of some comments stay, because nothing else in the dump has the same information
// (schedule.h lists these parts).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace evolve::ir {

// The place in the source that an instruction comes from.
struct SourceLine {
  std::string file;  // as the compiler was given it
  uint32_t line = 0;
  bool operator==(const SourceLine&) const = default;
  bool operator<(const SourceLine& other) const {
    return std::tie(file, line) < std::tie(other.file, other.line);
  }
};

class DumpLines {
 public:
  // The part of a comment after a load of the core's number that stays in the line.
  static constexpr std::string_view kCore = " core id ";

  explicit DumpLines(std::string_view text) : text_(text) {}

  // Goes on to the next line. False: the text has ended.
  bool next();

  [[nodiscard]] std::string_view content() const { return content_; }
  [[nodiscard]] uint32_t number() const { return number_; }
  [[nodiscard]] bool is_in_comment() const { return depth_ > 0; }
  // Whether region 0 has begun and not ended.
  [[nodiscard]] bool is_open() const { return is_open_; }

  // Returns where an instruction's source line is in `sources`, counted from 1; 0: the line is not
  // known. REQUIRES: `instruction` is a part of `content`.
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
  // The comments of this line that name a source: their places in `content_`, and the numbers of
  // their sources.
  std::vector<std::pair<size_t, uint16_t>> places_;
  std::vector<SourceLine> sources_;
  std::map<SourceLine, uint16_t> source_numbers_;
};

}  // namespace evolve::ir
