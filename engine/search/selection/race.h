// The race of a round: which variants are worth measuring for long. Pure.
//
// All variants are measured next to the seed for a short time. Variants that are clearly slower
// than the future survivors leave the race, because more samples would not change that. All but the
// best few of the others leave the race, too. The rest are measured again, longer, and judged only
// on these samples, because the best of many short measurements was also lucky.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/search/selection/selection.h"

namespace evolve::search {

// A ratio of times over cases, in logarithms: the weighted mean, and half the interval's width.
struct Standing {
  double mean = 0;
  double half_width = 0;
};

// Computes a standing from the ratios of cases. A case without a ratio counts as a ratio of one,
// known exactly. The errors of different cases count as independent.
Standing standing_of(const std::map<std::string, Ratio>& ratios,
                     const std::vector<BenchCase>& cases);

// A runner, which may be measured, or a leader, which may survive anyway.
struct Contender {
  VariantId id;
  Standing standing;
  std::map<std::string, std::string> programs = {};  // by case; empty: not known
};

// Whether a contender is measured.
struct Admission {
  VariantId id;
  bool is_in = false;
  std::string reason = {};     // why it is ruled out
  bool is_spot_check = false;  // in, although ruled out
};

// Returns an admission for each runner, in the same order. `runners`: the standings after the short
// measurement. `leaders`: variants that may survive anyway. These are variants of earlier rounds,
// or the seed, whose standing is 0. Variants with the same programs count as one for the limit,
// because only one of them survives. Runners that are clearly slower than the best `top_k` are out.
// At most `finalists` of the others stay.
std::vector<Admission> race(const std::vector<Contender>& runners,
                            const std::vector<Contender>& leaders, size_t top_k, size_t finalists);

}  // namespace evolve::search
