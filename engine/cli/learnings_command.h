// `evolve learnings`: what a campaign has learned, what it may have, and a person's word on both.
#pragma once

#include <string>

#include "engine/cli/commands.h"

namespace evolve::cli {

// Lists what is accepted and what is proposed.
Status run_learnings(const CommonOptions& common);
// Puts a proposal, by its handle ("v0012" or "v0012.1"), into the person's file (the pipeline's
// learn.file), from the next round on.
Status run_learnings_accept(const CommonOptions& common, const std::string& handle);
// Puts what is proposed, or was accepted by the rule (by its id), there as turned down: it is not
// told again from the next round on.
Status run_learnings_reject(const CommonOptions& common, const std::string& handle);

}  // namespace evolve::cli
