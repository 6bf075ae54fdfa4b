// The plan file: a person's decision on a model's plan for a variant, v0011.plan.md in the
// campaign's folder of proposals. A plan file is a source: people keep, edit and share it with the
// pipeline. Pure.
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
  std::string note;  // if the plan is rejected: the reason
  std::string plan;  // without blank lines around it; may be empty if rejected
};

// Reads a plan file. Bad input, with the line: not exactly one decision, a rejection without a
// reason, or an approval without a plan.
Result<PlanFile> read_plan_file(std::string_view text);
// Returns the text that read_plan_file() reads.
std::string plan_file_text(const PlanFile& file);

}  // namespace evolve::search
