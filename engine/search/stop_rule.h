// The stop rule, which decides when a campaign that runs by itself has done enough. Pure.
//
// A rule consists of conditions, joined by `and` and `or`. `and` binds more tightly:
//
//   speedup>=1.3 or stagnant 3 or cost>=5usd and rounds>=2
//
// A condition is a quantity, an optional `>=`, and a number with an optional unit:
//
//   rounds N        N rounds are done
//   speedup X       the best variant is X times as fast as the seed
//   stagnant N      in N rounds in a row the best did not get faster by more than a tie
//   roofline X      the best variant reaches the share X of the roofline, in its worst case
//   cost X          language models cost X usd so far
//   tokens N        language models read and wrote N tokens so far
//   device T        devices measured times for T s, min or h, in all runs so far
//   wall T          this run began T s, min or h ago; another run has as much time again
//
// The rule is evaluated after each round. It never interrupts a round.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve::search {

// The progress of a campaign. A condition on an unknown quantity does not hold.
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
  // Parses a rule. Bad input: the text is not a rule. The error has the column.
  static Result<StopRule> parse(std::string_view text);

  // Returns why the campaign has done enough, such as "speedup 1.34 >= 1.3". Nullopt: the rule does
  // not hold.
  [[nodiscard]] std::optional<std::string> reason(const Standpoint& at) const;

 private:
  struct Condition {
    std::string quantity;
    double least = 0;
  };
  std::vector<std::vector<Condition>> any_of_;  // the rule holds if all conditions of one list hold
};

// Returns the number of rounds, up to the last one, since the best score last improved.
// `best_scores` has each round's best score; 0: no score. Scores within the share `resolution` are
// ties.
int stagnant_rounds(std::span<const double> best_scores, double resolution);

}  // namespace evolve::search
