// When a campaign that runs by itself has done enough. Pure.
//
// A rule is conditions joined by `and` and `or`, of which `and` binds closer:
//
//   speedup>=1.3 or stagnant 3 or cost>=5usd and rounds>=2
//
// A condition is a quantity, `>=` or nothing, and a number with its unit:
//
//   rounds N        rounds are done
//   speedup X       the best variant is so many times as fast as the seed
//   stagnant N      rounds in a row in which the best did not get faster by more than a tie
//   roofline X      the best variant is this share of the roofline, in its worst case
//   cost X          usd that language models cost so far
//   tokens N        that they read and wrote so far
//   device T        s, min or h of devices in which times were measured, by all runs so far
//   wall T          s, min or h since this run began: another run has as much again
//
// It is asked after each round; no round is broken off.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve::search {

// How far a campaign is; what is not known meets no condition.
struct Standpoint {
  double rounds = 0;
  std::optional<double> speedup;
  double stagnant = 0;
  std::optional<double> roofline;
  double cost_usd = 0;
  double tokens = 0;
  double device_seconds = 0;
  double wall_seconds = 0;
};

class StopRule {
 public:
  // Bad input: what is no rule, with the column.
  static Result<StopRule> parse(std::string_view text);

  // Why it is enough, "speedup 1.34 >= 1.3"; none: it is not.
  [[nodiscard]] std::optional<std::string> reason(const Standpoint& at) const;

 private:
  struct Condition {
    std::string quantity;
    double least = 0;
  };
  std::vector<std::vector<Condition>> any_of_;  // of lists all of which hold
};

// After how many rounds without a better best a campaign is, by each round's best score (0: none)
// and the share within which scores are ties.
int stagnant_rounds(std::span<const double> best_scores, double resolution);

}  // namespace evolve::search
