// The judge of a recorded round: its rules and step programs, compared with our own.
#pragma once

#include <string>
#include <vector>

#include "engine/core/machine_paths.h"
#include "engine/core/ports.h"
#include "engine/core/record.h"
#include "engine/replay/past.h"

namespace evolve {

// Returns the sources of a record below $rules and $steps that differ from this version's files.
// `own` binds the folders of this version's files.
Result<std::vector<std::string>> differing_judge(const Record& record,
                                                 const std::vector<MachineBinding>& own,
                                                 Files& files);

// The judge of a round that is run again.
enum class Judge {
  recorded,  // the round was built here, and is judged as it was then
  own,       // the round was imported, and its judge must be this version's, commands included
  theirs,    // the round was imported, and the judge that came with it runs as it is
};

// Returns the words that follow a result of this judge.
constexpr const char* judge_note(Judge judge) {
  if (judge != Judge::theirs) return "";
  return "; with the judge that came with the record, not this version's";
}

struct JudgeChoice {
  Judge judge = Judge::recorded;
  std::string warning;  // how an imported judge differs from this version's; empty: no difference
};

// Chooses the judge of a round. An imported round gets its own judge only if `is_theirs_wanted`.
// Bad input: its own judge is not wanted, and the programs that came with the round are not this
// version's programs.
Result<JudgeChoice> choose_judge(const PastRound& past, State& state, bool is_theirs_wanted);

// Checks the commands of an imported round. Bad input: rounds.ninja, at `rounds`, is not what this
// version writes for any pipeline of the round, so the commands are somebody else's. REQUIRES: the
// current folder has the round's files as a project has them.
Status check_commands(const PastRound& past, const std::string& rounds);

}  // namespace evolve
