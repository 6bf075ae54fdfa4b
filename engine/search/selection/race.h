// Who of a round is worth measuring for long. Pure.
//
// All variants are measured beside the seed for a short time. Out of the race is who is clearly
// slower than those that will survive, whatever more samples would say; and of the others, all but
// the best few. Those that stay are measured again, longer, and on these samples alone they are
// judged: the best of many short measurements was lucky, too.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/search/selection/selection.h"

namespace evolve::search {

// A ratio of times over several cases, in logarithms: the weighted mean, and half of its interval.
struct Standing {
  double mean = 0;
  double half_width = 0;
};

// By the ratios that there are: a case without one counts as a ratio of one, known exactly. Cases
// err on their own.
Standing standing_of(const std::map<std::string, Ratio>& ratios,
                     const std::vector<BenchCase>& cases);

struct Runner {
  std::string id;
  Standing standing;
  std::map<std::string, std::string> programs = {};  // by case; empty: not known
};

struct RaceEntry {
  std::string id;
  bool is_in = false;
  std::string reason;  // why not
};

// `runners` as they stand after the short measurement; `leaders` are those who may survive anyway,
// from rounds before, or the seed, which stands at 0. Of several with the same programs one counts,
// for no more survives. At most `finalists` stay, and no fewer than
// there are if nobody is clearly slower than the best `top_k`. In the order of the runners.
std::vector<RaceEntry> race(const std::vector<Runner>& runners, const std::vector<Runner>& leaders,
                            size_t top_k, size_t finalists);

}  // namespace evolve::search
