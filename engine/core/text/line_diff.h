// Where two versions of a text differ, in few words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evolve {

// Lines of the newer text, from 1; of the older one where the newer has none instead.
struct LineChange {
  enum class Kind { differ, are_new, are_gone };
  Kind kind = Kind::differ;
  int first = 0, last = 0;
};

// The fewest places at which two texts differ, in order; of texts with thousands of lines between
// the first and the last that differ, one place for all. None: the texts are the same, or one has a
// zero byte and is no text.
std::vector<LineChange> line_changes(std::string_view before, std::string_view after);

// "line 41 differs", "line 41 to 58 differ", "line 3 is new, line 5 to 6 are gone"; at most three
// places, and how many more there are.
std::string text_of(const std::vector<LineChange>& changes);

}  // namespace evolve
