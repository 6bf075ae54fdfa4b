#include "engine/core/text/line_diff.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/core/text/hunks.h"

namespace evolve {

namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

constexpr size_t kPlacesShown = 3;

std::string text_of(const LineChange& change) {
  const bool is_one = change.first == change.last;
  const char* verb = "";
  switch (change.kind) {
    case LineChange::Kind::differ: verb = is_one ? "differs" : "differ"; break;
    case LineChange::Kind::are_new: verb = is_one ? "is new" : "are new"; break;
    case LineChange::Kind::are_gone: verb = is_one ? "is gone" : "are gone"; break;
  }
  return is_one ? fmt::format("line {} {}", change.first, verb)
                : fmt::format("line {} to {} {}", change.first, change.last, verb);
}

}  // namespace

std::vector<LineChange> line_changes(std::string_view before, std::string_view after) {
  const bool are_texts =
      before.find('\0') == std::string_view::npos && after.find('\0') == std::string_view::npos;
  if (!are_texts || before == after) return {};
  std::vector<LineChange> out;
  for (const Hunk& hunk : hunks(lines_of(before), lines_of(after))) {
    const bool is_gone = hunk.begin == hunk.end;
    const bool is_new = hunk.old_begin == hunk.old_end;
    out.push_back({is_gone  ? LineChange::Kind::are_gone
                   : is_new ? LineChange::Kind::are_new
                            : LineChange::Kind::differ,
                   static_cast<int>(is_gone ? hunk.old_begin : hunk.begin) + 1,
                   static_cast<int>(is_gone ? hunk.old_end : hunk.end)});
  }
  return out;
}

std::string text_of(const std::vector<LineChange>& changes) {
  std::string out;
  for (size_t i = 0; i < std::min(changes.size(), kPlacesShown); ++i) {
    out += (out.empty() ? "" : ", ") + text_of(changes[i]);
  }
  if (changes.size() > kPlacesShown) {
    const size_t more = changes.size() - kPlacesShown;
    out += fmt::format(" and {} more place{}", more, more == 1 ? "" : "s");
  }
  return out;
}

}  // namespace evolve
