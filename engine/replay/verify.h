// Verification: whether a recorded round repeats.
#pragma once

#include <string>

#include "engine/app/answer.h"
#include "engine/replay/rerun.h"

namespace evolve {

// Runs the round's pure steps again in `folder`, which is laid out as a project of its own and
// becomes the current folder. Measured and recorded results are taken from `from`, the state that
// has the record, whose folder is an absolute path. Answers with each difference and its first
// place, and fails if there is any. The last line says if the judge is not our own.
Result<Answer> verify(const CampaignFlags& common, const PastRound& past, State& from,
                      const Machine& machine, const std::string& folder, Judge judge);

// Does the same `times` times, each time in a folder of its own below `folder`. Each run has
// another seed of hashes, time zone, locale, HOME, PATH, place for temporary files, number of jobs
// and order of edges.
Result<Answer> check_determinism(const CampaignFlags& common, const PastRound& past, State& from,
                                 const Machine& machine, const std::string& folder, int times,
                                 Judge judge);

// Measures the round's times again in `folder`, laid out in the same way, and says of each whether
// it agrees. The record stays as it is. Bad input: nothing of the round was measured. The answer
// fails if a time differs.
Result<Answer> remeasure(const CampaignFlags& common, const PastRound& past, State& from,
                         const Machine& machine, const std::string& folder, Judge judge);

}  // namespace evolve
