// The code of a reply: what a model's words make of a parent's kernel, or why they make nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/llm/chat.h"

namespace evolve::llm {

// What a reply is held against.
struct ReplyContext {
  std::string parent;               // source with an EVOLVE block, which the code changes
  std::vector<std::string> others;  // further parents: who gives one of these back changed nothing
  std::string entry;                // the function that the kernel exports
};

// Kinds are stable: no-code, several-blocks, diff-does-not-apply, wrong-language, truncated, empty,
// outside-block, unchanged. The reason is one line that a later prompt may show.
struct Problem {
  std::string kind;
  std::string reason;
};

struct Proposal {
  std::string kernel;  // the whole source; the parent's where there is a problem
  std::optional<Problem> problem;
  // Without the tags, in one line, cut where they are long; each as the reply has them.
  std::string plan;
  std::vector<std::string> learnings;
};

// Reads either form, whatever was asked for: edits where there are any, else one Python block,
// which is the whole kernel file or what stands in its EVOLVE block. Text outside of the block is
// always the parent's, byte for byte. Bad input: the parent has no EVOLVE block.
Result<Proposal> read_proposal(std::string_view text, Finish finish, const ReplyContext& context);

}  // namespace evolve::llm
