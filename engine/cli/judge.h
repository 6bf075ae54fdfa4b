// By whom a recorded round was judged: its rules and step programs beside one's own.
#pragma once

#include <string>
#include <vector>

#include "engine/cli/past.h"
#include "engine/core/key.h"
#include "engine/core/ports.h"
#include "engine/core/record.h"

namespace evolve::cli {

// The sources of a record below $rules and $steps that are not as those here; `own` binds where
// these lie.
Result<std::vector<std::string>> differing_judge(const Record& record,
                                                 const std::vector<MachineBinding>& own,
                                                 Files& files);

// What is to be said of the judge of a round that is run anew; empty where it was built here, or is
// judged as it would be here. Bad input: it came with a bundle, and to run what came with it was
// not asked for (`is_theirs_wanted`): even with the same judge, its manifest is another's commands.
Result<std::string> check_judge(const PastRound& past, State& state, bool is_theirs_wanted);

}  // namespace evolve::cli
