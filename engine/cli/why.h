// `evolve why`: what a build would run and which parts of the keys are others than before; where
// stored results come from; what the last build ran, and why. The words come from the code that
// makes the keys.
#pragma once

#include <string>
#include <vector>

#include "engine/cli/session.h"

namespace evolve::cli {

// `target` empty: the campaign's last round.
Status run_why(const CommonOptions& common, const std::string& target);

// Whether a build of these would run anything; to put files back that are stored is not that.
Result<bool> would_run(Session& session, const std::vector<NodeId>& targets);

// What a build of these would do: `evolve build --dry-run`.
Status tell_pending(const CommonOptions& common, Session& session,
                    const std::vector<NodeId>& targets);

}  // namespace evolve::cli
