// Differences between two versions of a text, in few words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evolve {

// A range of lines, counted from 1. The lines are those of the newer text, or of the older text if
// they are gone.
struct LineChange {
  enum class Kind { differ, are_new, are_gone };
  Kind kind = Kind::differ;
  int first = 0, last = 0;
};

// Returns the fewest places at which two texts differ, in order. Returns a single place if
// thousands of lines lie between the first and the last difference. Empty: the texts are the same,
// or one of them has a zero byte and so is not a text.
std::vector<LineChange> line_changes(std::string_view before, std::string_view after);

// Returns a text such as "line 41 differs" or "line 3 is new, line 5 to 6 are gone". The text has
// at most three places, and says how many more follow.
std::string text_of(const std::vector<LineChange>& changes);

}  // namespace evolve
