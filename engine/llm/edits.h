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
  bool is_cut_off = false;  // the last one has no end
};

// Markers are lines of five to nine signs, as in Aider: "<<<<<<< SEARCH", "=======", ">>>>>>>
// REPLACE". Where a marker stands that cannot stand there, the edit is left out.
Edits read_edits(std::string_view text);

// Why edits do not apply.
struct EditProblem {
  std::string reason;
  bool is_outside = false;  // what was searched for is in `source`, but not in the block
};

// Applies all edits to the lines of `source` in [begin, end), and gives these lines anew. Each
// SEARCH must be there exactly once, blanks at lines' ends aside, and no two may overlap: all are
// held against the text as it was, so their order does not matter.
struct Edited {
  std::string block;
  std::vector<EditProblem> problems;  // empty: the edits apply
};
Edited apply_edits(std::string_view source, size_t begin, size_t end,
                   const std::vector<Edit>& edits);

}  // namespace evolve::llm
