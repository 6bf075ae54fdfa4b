// Verification: whether a second run of a recorded round gives the same results.
#pragma once

#include <string>

#include "engine/app/answer.h"
#include "engine/replay/rerun.h"

namespace evolve {

// Runs the round's pure steps again in `folder`, which is laid out as a project of its own and
// becomes the current folder. `from` is the state that has the record; its folder is an absolute
// path. Measured and recorded results are taken from there. The answer has each difference and its
// first place, and fails if there is a difference. Its last line says if the judge is not this
// version's.
Result<Answer> verify(const CampaignFlags& common, const PastRound& past, State& from,
                      const Machine& machine, const std::string& folder, Judge judge);

// Runs the pure steps again `times` times, and compares the bytes. Each run has a folder of its own
// below `folder`, and another seed of hashes, time zone, locale, HOME, PATH, place for temporary
// files, number of jobs and order of edges.
Result<Answer> check_determinism(const CampaignFlags& common, const PastRound& past, State& from,
                                 const Machine& machine, const std::string& folder, int times,
                                 Judge judge);

// Measures the round's times again in `folder`, which is laid out as for verify(). The answer says
// for each time whether it agrees with the record, and fails if a time differs. The record stays as
// it is. Bad input: the round has no measured times.
Result<Answer> remeasure(const CampaignFlags& common, const PastRound& past, State& from,
                         const Machine& machine, const std::string& folder, Judge judge);

}  // namespace evolve
