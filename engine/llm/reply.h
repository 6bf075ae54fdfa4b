// The reader of a model's reply. A reply gives a new kernel or a plan, or there is a reason why it
// gives neither.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/llm/chat.h"
#include "engine/search/proposal/adoption.h"

namespace evolve::llm {

struct Proposal {
  std::string kernel;  // the whole source; with a problem, the parent's source
  // The kinds: no-code, several-blocks, diff-does-not-apply, wrong-language, truncated, empty,
  // outside-block and unchanged.
  std::optional<search::Problem> problem;
  // The plan and each learning are on one line, without their tags, and cut if they are long. The
  // learnings are in the reply's order.
  std::string plan = {};
  std::vector<std::string> learnings = {};
};

// Reads a reply in either form, whatever was asked for: edits if the reply has any, else one Python
// block. A Python block is the whole kernel file or the content of its EVOLVE block. Text outside
// of the EVOLVE block always comes from the parent, byte for byte. Bad input: the parent has no
// EVOLVE block.
Result<Proposal> read_proposal(std::string_view text, Finish finish,
                               const search::AdoptionContext& context);

// The whole plan in a reply that was asked for one. Problem: empty, or truncated.
struct PlanReply {
  std::string plan;
  std::optional<search::Problem> problem;
};
PlanReply read_plan_reply(std::string_view text, Finish finish);

}  // namespace evolve::llm
