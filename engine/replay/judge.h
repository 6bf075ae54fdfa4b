// By whom a recorded round was judged: its rules and step programs beside one's own.
#pragma once

#include <string>
#include <vector>

#include "engine/core/machine_paths.h"
#include "engine/core/ports.h"
#include "engine/core/record.h"
#include "engine/replay/past.h"

namespace evolve {

// The sources of a record below $rules and $steps that are not as those here; `own` binds where
// these lie.
Result<std::vector<std::string>> differing_judge(const Record& record,
                                                 const std::vector<MachineBinding>& own,
                                                 Files& files);

// Who judges a round that is run anew.
enum class Judge {
  recorded,  // the round was built here, and is judged as it was then
  own,       // it was imported, and its judge has to be this version's, commands included
  theirs,    // it was imported, and what came with it is run as it is
};

// What follows a result that came of this judge.
constexpr const char* judge_note(Judge judge) {
  if (judge != Judge::theirs) return "";
  return "; the judge was the one that came with the record, not this version's";
}

struct JudgeChoice {
  Judge judge = Judge::recorded;
  std::string warning;  // of an imported judge, where it is not this version's
};

// Theirs where it `is_theirs_wanted`. Bad input: it was not, and the programs that came with the
// round are not those of this version.
Result<JudgeChoice> choose_judge(const PastRound& past, State& state, bool is_theirs_wanted);

// The current folder has an imported round's files as a project has them. Bad input: rounds.ninja,
// at `rounds`, is not what this version writes for a pipeline among them: the round's commands are
// somebody else's.
Status check_commands(const PastRound& past, const std::string& rounds);

}  // namespace evolve
