// Code from elsewhere, a model's or a person's, as a kernel: it takes the place of its parent's
// EVOLVE block, and of nothing else.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve::search {

// A note, by whomever, is one line of at most so much.
constexpr size_t kMostNoteBytes = 500;

// Why what was proposed is no kernel. Kinds are stable; the reason is one line that a later prompt
// may show.
struct Problem {
  std::string kind;
  std::string reason;
};

// A source with an EVOLVE block, in three pieces; the markers are parts of head and tail.
struct Pieces {
  std::string_view head, block, tail;
};
// Bad input: there is no block.
Result<Pieces> pieces_of(std::string_view source);

// What code is held against.
struct AdoptionContext {
  std::string parent;               // source with an EVOLVE block, which the code changes
  std::vector<std::string> others;  // further parents: who gives one of these back changed nothing
  std::string entry;                // the function that the kernel exports
};

struct Adoption {
  std::string kernel;  // the whole source; the parent's where there is a problem
  std::optional<Problem> problem;
};

// Lines of code, or why there are none.
struct Code {
  std::string text;
  std::optional<Problem> problem;
};

// The lines for the block: of a code that is the whole kernel file, with the markers or without, or
// the block alone. Problem outside-block: it has one marker, or binds names that are outside.
Code block_of(const std::string& code, const Pieces& parent);

// The parent with these lines as its block. Problems besides theirs: no-code where the entry is
// lost, unchanged, outside-block where they have markers of their own. Bad input: the parent has no
// EVOLVE block.
Result<Adoption> adopt(Code lines, const AdoptionContext& context);

// The names that lines at the left margin bind: "def f(", "class C", "NAME =", "NAME: int =".
std::set<std::string_view> bound_names(std::string_view text);

// Blank lines at either end, and blanks at lines' ends, make no difference.
bool is_same_text(std::string_view a, std::string_view b);

}  // namespace evolve::search
