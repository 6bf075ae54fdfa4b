// The adoption of a model's or a person's code as a kernel: the code replaces its parent's EVOLVE
// block, and nothing else.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve::search {

// The maximum number of bytes of a note. Every note is one line.
constexpr size_t kMostNoteBytes = 500;

// Why a proposal is not a kernel. The names of the kinds never change. The reason is one line,
// which a later prompt may show.
struct Problem {
  std::string kind;
  std::string reason;
};

// A source with an EVOLVE block, in three pieces; the markers belong to head and tail.
struct Pieces {
  std::string_view head, block, tail;
};
// Returns the pieces of a source. Bad input: the source has no block.
Result<Pieces> pieces_of(std::string_view source);

// The sources that the code is compared with, and the function that it must define.
struct AdoptionContext {
  std::string parent;               // source with an EVOLVE block, which the code changes
  std::vector<std::string> others;  // further parents; code like theirs changes nothing
  std::string entry;                // the function that the kernel exports
};

struct Adoption {
  std::string kernel;  // the whole source; if there is a problem, the parent's
  std::optional<Problem> problem;
};

// Lines of code, or why they are missing.
struct Code {
  std::string text;
  std::optional<Problem> problem;
};

// Returns the lines for the block. `code` is the whole kernel file, with or without the markers, or
// only the block. Problem outside-block: the code has only one marker, or defines names that the
// parent defines outside of the block.
Code block_of(const std::string& code, const Pieces& parent);

// Returns the parent with these lines as its block. A problem of the lines is passed on. Further
// problems: no-code, if the lines do not define the entry; unchanged, if they are the same as a
// parent's; outside-block, if they contain markers. Bad input: the parent has no EVOLVE block.
Result<Adoption> adopt(Code lines, const AdoptionContext& context);

// Returns the names that unindented lines bind: "def f(", "class C", "NAME =", "NAME: int =".
std::set<std::string_view> bound_names(std::string_view text);

// Whether two texts are the same, apart from blank lines at either end and blanks at the ends of
// lines.
bool is_same_text(std::string_view a, std::string_view b);

}  // namespace evolve::search
