// The selection at the end of a round: the variants from which the next round starts. Pure and
// deterministic. selection_record.h reads and writes the JSON.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/rejection.h"
#include "engine/search/selection/decision.h"
#include "engine/search/selection/origin.h"
#include "engine/search/selection/rule.h"
#include "engine/search/space/space.h"
#include "engine/search/time_kind.h"

namespace evolve::search {

// A variant with everything that its steps reported.
struct Evaluated : Origin {
  std::optional<Rejection> rejection;  // nullopt: every check is ok and every bench case has a time
  std::optional<TimeKind> time_kind;   // nullopt: no time
  std::map<std::string, double> seconds;  // by bench case
  std::map<std::string, Ratio> ratios;    // relative to the seed; by bench case, if measured
  bool is_confirmed = true;  // false: measured only briefly, or large cases not compared
  // The steps that could not be done on the variant and that the spec does not excuse, each with
  // the reason: "interpret aligned: did not end within 120 s of CPU time". A variant with such a
  // step does not survive.
  std::vector<std::string> not_done;
  std::string cell;                        // of its first bench case; empty: not known
  std::map<std::string, double> modelled;  // seconds by bench case, where the model gives them
  std::string ruled_out;  // why the first cut kept it from being measured; empty: not ruled out
  bool is_spot_check = false;                   // measured although the cut ruled it out
  std::map<std::string, std::string> programs;  // digests by bench case, where known
};

struct BenchCase {
  std::string name;
  double weight = 1;
};

// A survivor, which a round passes to the next round. The policy determines which members are used
// (population.h).
struct Survivor {
  Evaluated variant;
  double score = 0;
  std::string reason = {};
  std::string name = {};             // name of its lineage: "L1"
  int stagnant_rounds = 0;           // rounds in which it did not get faster
  std::vector<VariantId> path = {};  // the lineage's best variants so far, in order
  int island = 0;                    // from 1
};

// A lineage that ended.
struct Pruned {
  Survivor survivor;
  std::string reason;  // "same_as_L1", "stagnant_3_rounds"
};

// The error of the model so far, over variants that were modelled and measured, both relative to
// the seed.
struct ModelError {
  size_t compared = 0;   // variants
  double offset = 0;     // mean of log(measured / modelled): common to all variants
  double error = 0;      // standard deviation of the same: can put variants in a wrong order
  size_t ruled_out = 0;  // variants not measured because of the model
  size_t spot_checks = 0;
  size_t wrong = 0;  // spot checks that survived
};

struct SelectionRequest {
  std::vector<BenchCase> cases;
  int round = 1;
  SelectionRule rule;
  uint64_t random_seed = 0;
  Evaluated seed;
  std::vector<Evaluated> variants;  // of this round, in the order of their places
  std::vector<Survivor> before;     // the previous round's survivors; empty: the seed
  std::vector<int> places;          // this round's, as the round before gave them
  int lineages_made = 0;            // in earlier rounds
  ModelError model;                 // in earlier rounds
};

struct Ranked {
  Evaluated variant = {};
  double score = 0;
  double half_width = 0;  // of the 95 % interval of the score's logarithm
  // The survivor with the same program or the same parameters; nullopt: no survivor.
  std::optional<VariantId> same_as = {};
  std::optional<double> modelled = {};  // the modelled ratio to the seed, next to a measured one
};

struct Selection {
  int round = 1;
  std::optional<TimeKind> time_kind;  // nullopt: nothing has a time
  double resolution = 0;              // scores nearer than this share are ties
  bool is_relative = true;  // scores are speedups over the seed; false: 1 / seconds (no seed time)
  std::vector<Survivor> survivors;  // the best first
  // For each place of the next round, the number of its parent among the survivors, from 1. Empty:
  // all parents are the seed.
  std::vector<int> places;
  std::vector<Pruned> pruned;        // in this round
  int lineages_made = 0;             // including this round
  std::vector<Ranked> ranking;       // all in contention, by score
  std::vector<Evaluated> rejected;   // of this round
  std::vector<Evaluated> ruled_out;  // of this round, by the model
  Evaluated seed;
  ModelError model;  // including this round

  // Returns the number, from 1, of the survivor that got a place of the next round; 0: no survivor
  // got the place, so its parent is the seed.
  [[nodiscard]] size_t parent_of(size_t place) const {
    const size_t number = place < places.size() ? static_cast<size_t>(places[place]) : 0;
    return number > survivors.size() ? 0 : number;
  }
};

// Rounds to six digits, because machines compute slightly different logarithms, and all must write
// the same bytes.
double rounded(double value);

// Selects the survivors of a round.
//
// The score of a variant is its speedup over the seed: the weighted geometric mean, over the bench
// cases, of the seed's time divided by the variant's. It is a mean of ratios, so that a long case
// does not outvote a short one. It is geometric, so that the ranking does not depend on the divisor
// of the times. A variant that was measured next to the seed counts by that ratio, and not by the
// times of different runs. If the seed has no time (it was rejected), the times are divided by one
// second instead, which gives the same ranking.
//
// This round's variants and the survivors of the previous round (in the first round, the seed) are
// in contention, unless a step rejected them. A variant survives only if the longer measurement
// confirmed its time. A variant that the first cut ruled out has no time and is not ranked. Scores
// that differ by no more than the resolution are ties. The resolution is 3 % for modelled time,
// because the model cannot order variants that are closer. For measured time it is 1 %, or more if
// the intervals leave the order open. The earliest variant of a tie comes first. A variant with the
// same program or the same parameters as a survivor does not become a second survivor. The rule's
// policy decides which variants survive.
//
// Bad input: some times are modelled and others are measured. These are never ranked together.
Result<Selection> select(const SelectionRequest& request);

}  // namespace evolve::search
