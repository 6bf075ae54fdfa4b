// Whether a recorded round repeats.
#pragma once

#include <string>

#include "engine/cli/rerun.h"

namespace evolve::cli {

// Runs the round's pure steps anew in `folder`, which is laid out as a project of its own and
// becomes the current one; what is measured or recorded is taken from `from`, where the record
// lies, with an absolute path. Prints each difference with its first place. An error of code
// `failed` where there is any. The last line says where the judge is not one's own.
Status verify(const CommonOptions& common, const PastRound& past, State& from,
              const Machine& machine, const std::string& folder, Judge judge);

// As verify(), `times` times, each in a folder of its own below `folder` and with another seed of
// hashes, another time zone, locale, PATH and place for temporary files, and in another order.
Status check_determinism(const CommonOptions& common, const PastRound& past, State& from,
                         const Machine& machine, const std::string& folder, int times, Judge judge);

// Measures the round's times anew in `folder`, laid out in the same way, and says of each whether
// it agrees. The record stays as it is. Bad input where nothing of the round was measured; an error
// of code `failed` where one differs.
Status remeasure(const CommonOptions& common, const PastRound& past, State& from,
                 const Machine& machine, const std::string& folder, Judge judge);

}  // namespace evolve::cli
