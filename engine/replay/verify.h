// Whether a recorded round repeats.
#pragma once

#include <string>

#include "engine/app/answer.h"
#include "engine/replay/rerun.h"

namespace evolve {

// Runs the round's pure steps anew in `folder`, which is laid out as a project of its own and
// becomes the current one; what is measured or recorded is taken from `from`, where the record
// lies, with an absolute path. Answers with each difference and its first place, and fails
// where there is any. The last line says where the judge is not one's own.
Result<Answer> verify(const SessionOptions& common, const PastRound& past, State& from,
                      const Machine& machine, const std::string& folder, Judge judge);

// As verify(), `times` times, each in a folder of its own below `folder` and with another seed of
// hashes, another time zone, locale, PATH and place for temporary files, and in another order.
Result<Answer> check_determinism(const SessionOptions& common, const PastRound& past, State& from,
                                 const Machine& machine, const std::string& folder, int times,
                                 Judge judge);

// Measures the round's times anew in `folder`, laid out in the same way, and says of each whether
// it agrees. The record stays as it is. Bad input where nothing of the round was measured; the
// answer fails where one differs.
Result<Answer> remeasure(const SessionOptions& common, const PastRound& past, State& from,
                         const Machine& machine, const std::string& folder, Judge judge);

}  // namespace evolve
