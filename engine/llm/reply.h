// What a reply holds: what a model's words make of a parent's kernel, or the plan of that; or why
// they give nothing.
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
  std::string kernel;  // the whole source; the parent's where there is a problem
  // no-code, several-blocks, diff-does-not-apply, wrong-language, truncated, empty, outside-block
  // or unchanged.
  std::optional<search::Problem> problem;
  // Without the tags, in one line, cut where they are long; each as the reply has them.
  std::string plan;
  std::vector<std::string> learnings;
};

// Reads either form, whatever was asked for: edits where there are any, else one Python block,
// which is the whole kernel file or what stands in its EVOLVE block. Text outside of the block is
// always the parent's, byte for byte. Bad input: the parent has no EVOLVE block.
Result<Proposal> read_proposal(std::string_view text, Finish finish,
                               const search::AdoptionContext& context);

// What a reply gives that was asked for a plan, whole. Problem: empty, or truncated.
struct PlanReply {
  std::string plan;
  std::optional<search::Problem> problem;
};
PlanReply read_plan_reply(std::string_view text, Finish finish);

}  // namespace evolve::llm
