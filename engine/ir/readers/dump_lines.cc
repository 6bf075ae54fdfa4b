#include "engine/ir/readers/dump_lines.h"

#include <algorithm>
#include <charconv>

namespace evolve::ir {

namespace {

constexpr size_t kMostSources = 60'000;

bool is_telling(char c) {
  return c == '/' || c == '*' || c == '\n';
}

// Returns the way of a "dma.general" from its comment: "hbm-to-hbm". Empty: the comment does not
// name a way.
std::string_view way_in(std::string_view comment) {
  constexpr size_t kMostLength = 20;
  std::string_view inner = comment.substr(0, kMostLength + 2);
  inner = inner.substr(0, std::min(inner.find("*/"), kMostLength));
  return inner.find("-to-") == std::string_view::npos ? std::string_view() : inner;
}

}  // namespace

bool DumpLines::next() {
  if (position_ >= text_.size()) return false;
  number_ = line_ + 1;
  places_.clear();
  size_t end = std::min(text_.find('\n', position_), text_.size());
  std::string_view line = text_.substr(position_, end - position_);
  if (line.find("/*") != std::string_view::npos) {
    read_commented();
  } else {
    content_ = line;
    position_ = end + 1;
    ++line_;
  }
  return true;
}

void DumpLines::read_commented() {
  buffer_.clear();
  while (position_ < text_.size()) {
    size_t end = position_;
    while (end < text_.size() && !is_telling(text_[end])) ++end;
    if (depth_ == 0) buffer_ += text_.substr(position_, end - position_);
    position_ = end;
    std::string_view two = text_.substr(position_, 2);
    if (two == "/*") {
      if (++depth_ == 1) note_comment(text_.substr(position_ + 2));
      position_ += 2;
    } else if (depth_ > 0 && two == "*/") {
      --depth_;
      position_ += 2;
    } else if (!two.empty()) {
      ++position_;
      if (two[0] == '\n') ++line_;
      if (depth_ > 0) continue;
      if (two[0] == '\n') break;
      buffer_ += two[0];
    }
  }
  content_ = buffer_;
}

// Keeps the information that only comments have: the parts that schedule.h lists, and where the
// program starts and ends.
void DumpLines::note_comment(std::string_view comment) {
  for (std::string_view kind : {" kDivAndRem ", " kDiv ", " kRem "}) {
    if (comment.starts_with(kind)) buffer_ += kind;
  }
  // is_behind comes last, because its search costs most, and few comments need it.
  const std::string_view way = way_in(comment);
  if (!way.empty() && is_behind("= dma.general ")) buffer_ += way;
  if (comment.starts_with(" loc(")) note_source(comment);
  if (comment.starts_with(kCore) && is_behind("= sld ")) buffer_ += kCore;
  if (comment.starts_with(" %") && is_behind("= inlined_call "))
    buffer_ += comment.substr(0, comment.find('('));
  constexpr std::string_view kBegin = " Start region 0 ";
  constexpr std::string_view kEnd = "End region 0 ";
  if (comment.starts_with(kBegin)) is_open_ = true;
  if (comment.starts_with(" exit bundle:")) is_open_ = false;
  if (is_open_ && comment.substr(0, 4 * kEnd.size()).find("End region") != std::string_view::npos &&
      comment.substr(0, comment.find("*/")).find(kEnd) != std::string_view::npos)
    is_open_ = false;
}

// Notes a place in the source: " loc("kernel.py":39:8 to :20)".
void DumpLines::note_source(std::string_view comment) {
  constexpr std::string_view kEnd = "\":";
  std::string_view place = comment.substr(0, comment.find("*/"));
  size_t open = std::min(place.find('"'), place.size());
  size_t close = place.find(kEnd, open + 1);
  if (close == std::string_view::npos) return;
  std::string_view digits = place.substr(close + kEnd.size());
  SourceLine source{std::string(place.substr(open + 1, close - open - 1)), 0};
  auto code = std::from_chars(digits.data(), digits.data() + digits.size(), source.line).ec;
  if (code != std::errc() || sources_.size() >= kMostSources) return;
  auto number = static_cast<uint16_t>(sources_.size() + 1);
  auto [found, is_new] = source_numbers_.emplace(source, number);
  if (is_new) sources_.push_back(std::move(source));
  places_.emplace_back(buffer_.size(), found->second);
}

uint16_t DumpLines::source_of(std::string_view instruction) const {
  if (places_.empty()) return 0;
  constexpr size_t kBlanks = 2;  // the most between an instruction and its comment
  auto begin = static_cast<size_t>(instruction.data() - content_.data());
  auto place = std::lower_bound(places_.begin(), places_.end(), std::pair(begin, uint16_t{0}));
  bool is_its = place != places_.end() && place->first <= begin + instruction.size() + kBlanks;
  return is_its ? place->second : uint16_t{0};
}

// Whether the comment follows an instruction of this opcode.
bool DumpLines::is_behind(std::string_view opcode) const {
  // Instructions are shorter. Without this limit, a long line of comments would take very long.
  constexpr size_t kMostLength = 4096;
  std::string_view last = buffer_;
  last.remove_prefix(last.size() - std::min(last.size(), kMostLength));
  size_t at = last.rfind(opcode);
  return at != std::string_view::npos && last.find(";;", at) == std::string_view::npos;
}

}  // namespace evolve::ir
