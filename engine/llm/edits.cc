#include "engine/llm/edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/core/text/lines.h"

namespace evolve::llm {

namespace {

using Lines = std::vector<std::string_view>;

// Whether a line is a marker: five to nine times `sign`, and then `word`.
bool is_marker(std::string_view line, char sign, std::string_view word) {
  constexpr size_t kLeast = 5, kMost = 9;
  line = without_end_blanks(line);
  const size_t length = std::min(line.find_first_not_of(sign), line.size());
  if (length < kLeast || length > kMost) return false;
  return without_blanks(line.substr(length)) == word;
}

bool is_same(std::string_view a, std::string_view b) {
  return without_end_blanks(a) == without_end_blanks(b);
}

// Returns the places where `search` occurs in `lines`. Each place is the index of the first line
// that matches.
std::vector<size_t> places_of(const std::vector<std::string>& search, const Lines& lines) {
  std::vector<size_t> out;
  for (size_t at = 0; at + search.size() <= lines.size(); ++at) {
    size_t same = 0;
    while (same < search.size() && is_same(search[same], lines[at + same])) ++same;
    if (same == search.size()) out.push_back(at);
  }
  return out;
}

// Names the first searched line that does not occur, for the model to look at.
std::string missing_line(const std::vector<std::string>& search, const Lines& lines) {
  constexpr size_t kMost = 80;
  for (const std::string& line : search) {
    const bool is_there = std::any_of(lines.begin(), lines.end(),
                                      [&](std::string_view other) { return is_same(line, other); });
    if (!is_there) return fmt::format("no line equals '{}'", without_blanks(line).substr(0, kMost));
  }
  return "its lines are not consecutive";
}

bool is_blank(const std::vector<std::string>& lines) {
  return std::all_of(lines.begin(), lines.end(),
                     [](const std::string& line) { return without_blanks(line).empty(); });
}

}  // namespace

Edits read_edits(std::string_view text) {
  enum class State { outside, search, replace };
  State state = State::outside;
  Edits out;
  Edit edit;
  for (std::string_view line : lines_of(text)) {
    if (is_marker(line, '<', "SEARCH")) {
      edit = {};
      state = State::search;
    } else if (state == State::search && is_marker(line, '=', "")) {
      state = State::replace;
    } else if (state == State::replace && is_marker(line, '>', "REPLACE")) {
      out.edits.push_back(edit);
      state = State::outside;
    } else if (state == State::search) {
      edit.search.emplace_back(line);
    } else if (state == State::replace) {
      edit.replace.emplace_back(line);
    }
  }
  out.is_cut_off = state != State::outside;
  return out;
}

Edited apply_edits(std::string_view source, size_t begin, size_t end,
                   const std::vector<Edit>& edits) {
  const Lines lines = lines_of(source.substr(begin, end - begin)), all = lines_of(source);
  Edited out;
  std::map<size_t, const Edit*> by_place;
  for (size_t i = 0; i < edits.size(); ++i) {
    const std::string which = fmt::format("edit {} of {}", i + 1, edits.size());
    auto refuse = [&](const std::string& why, bool is_outside = false) {
      out.problems.push_back({fmt::format("{}: {}", which, why), is_outside});
    };
    if (is_blank(edits[i].search)) {
      refuse("SEARCH is empty");
      continue;
    }
    const std::vector<size_t> places = places_of(edits[i].search, lines);
    if (places.size() == 1) {
      if (!by_place.emplace(places.front(), &edits[i]).second) refuse("overlaps another edit");
    } else if (places.size() > 1) {
      refuse(fmt::format("SEARCH matches {} times; add lines to make it unique", places.size()));
    } else if (!places_of(edits[i].search, all).empty()) {
      refuse("SEARCH is outside of the EVOLVE block", true);
    } else {
      refuse("SEARCH is not in the source: " + missing_line(edits[i].search, all));
    }
  }
  size_t next = 0;
  for (const auto& [place, edit] : by_place) {
    if (place < next) out.problems.push_back({"two edits overlap", false});
    for (; next < place; ++next) out.block.append(lines[next]) += '\n';
    out.block += joined(edit->replace);
    next = std::max(next, place + edit->search.size());
  }
  for (; next < lines.size(); ++next) out.block.append(lines[next]) += '\n';
  return out;
}

}  // namespace evolve::llm
