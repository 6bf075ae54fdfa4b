// `evolve learnings`: what a campaign has learned, what it may have, and a person's word on both.
#pragma once

#include <string>
#include <vector>

#include "engine/cli/commands.h"

namespace evolve::cli {

// Lists what is accepted and what is proposed.
Status run_learnings(const CommonOptions& common);
struct LearningsCommand {
  std::vector<std::string> handles;  // of proposals, "v0012" or "v0012.1"; or ids, "S003"
  std::string kind;                  // "failure", "success"; empty: as it is listed
};
// Puts proposals into the person's file (the pipeline's learn.file): all, or, where one of them is
// bad input, none. They are told from the next round on.
Status run_learnings_accept(const CommonOptions& common, const LearningsCommand& command);
// Puts what is proposed, or was accepted by the rule (by its id, which it keeps), there as turned
// down: it is not told again from the next round on.
Status run_learnings_reject(const CommonOptions& common, const LearningsCommand& command);

}  // namespace evolve::cli
