// What a person says of a model's plan for a variant: a file of the campaign's folder of proposals,
// v0011.plan.md. It is a source: kept, edited and shared with the pipeline. Pure.
//
//   # evolve: approved: the second half first    a note, which may be missing; or
//   # evolve: rejected: that was tried           why, in one line
//
//   the plan, as it is to be carried out
#pragma once

#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace evolve::search {

struct PlanFile {
  bool is_approved = false;
  std::string note;  // of one that was rejected the reason
  std::string plan;  // without blank lines around it; of one that was rejected it may be empty
};

// Bad input, with the line: not just one of both is said, there is no reason, or no plan that was
// approved.
Result<PlanFile> read_plan_file(std::string_view text);
// The text that is read so.
std::string plan_file_text(const PlanFile& file);

}  // namespace evolve::search
