// Edits as models write them: SEARCH and REPLACE, the form of Aider and OpenEvolve.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve::llm {

struct Edit {
  std::vector<std::string> search, replace;  // lines
};

struct Edits {
  std::vector<Edit> edits;
  bool is_cut_off = false;  // the last edit has no end
};

// Reads the edits of a text. Markers are lines of five to nine signs, as in Aider:
// "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE". An edit without all three markers in this order
// is left out.
Edits read_edits(std::string_view text);

// The reason why an edit does not apply.
struct EditProblem {
  std::string reason;
  bool is_outside = false;  // the searched lines are in `source`, but not in the block
};

// Applies all edits to the lines in the bytes [begin, end) of `source`, and returns the new lines.
// Each SEARCH must match exactly once, and no two matches may overlap. Blanks at the ends of lines
// do not matter. All edits are matched against the unchanged text, so their order does not matter.
struct Edited {
  std::string block;
  std::vector<EditProblem> problems;  // empty: the edits apply
};
Edited apply_edits(std::string_view source, size_t begin, size_t end,
                   const std::vector<Edit>& edits);

}  // namespace evolve::llm
