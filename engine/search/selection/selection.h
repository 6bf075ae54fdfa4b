// The end of a round: which variants survive as the lineages that the next round starts from. Pure
// and deterministic. The JSON that it reads and writes is selection_record.h's.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/selection/decision.h"
#include "engine/search/space/space.h"

namespace evolve::search {

// Why a variant is out: of the steps that failed, the first of those that say most.
struct Rejection {
  std::string step;  // "compile"
  std::string case_name;
  std::string kind;  // "out-of-memory"
  std::string reason;
  nlohmann::json evidence;  // as the step gave it: the worst element, say; null where it gave none
};

// A variant with all that its steps said of it.
struct Evaluated {
  std::string id;
  int round = 0;
  std::vector<std::string> parents;
  Point parameters;
  std::string note;
  std::string mutator;
  std::string source;  // digests as history.h has them
  std::string structure;
  nlohmann::json exchange;  // what a language model was asked and said, in short; null: it was not
  std::optional<Rejection> rejection;     // none: every check is ok and every bench case has a time
  std::string time_kind;                  // "modelled" or "measured"; empty where there is no time
  std::map<std::string, double> seconds;  // of each bench case
  std::map<std::string, Ratio> ratios;    // by the seed's; of each bench case that was measured
  bool is_confirmed =
      true;  // false: its times are of the short measurement that a race begins with
  // Which steps could not be done on it and why, and the spec does not excuse it: "interpret
  // aligned: did not end within 120 s of CPU time". Such a variant does not survive.
  std::vector<std::string> not_done;
  std::string cell;                        // of its first bench case; empty: not known
  std::map<std::string, double> modelled;  // seconds of each bench case that the model can follow
  std::string ruled_out;       // why the first cut had it not measured; empty: nothing had
  bool is_spot_check = false;  // measured although the cut ruled it out
  std::map<std::string, std::string> programs;  // digest of each bench case's program, where known
};

struct BenchCase {
  std::string name;
  double weight = 1;
};

// What a round hands to the next one; what of it is used depends on the policy (population.h).
struct Survivor {
  Evaluated variant;
  double score = 0;
  std::string reason = {};
  std::string name = {};               // of its lineage, "L1"
  int stagnant_rounds = 0;             // in which it did not get faster
  std::vector<std::string> path = {};  // the lineage's best variants so far, the first one first
  int island = 0;                      // from 1
};

// A lineage that is given up.
struct Pruned {
  Survivor survivor;
  std::string reason;  // "same_as_L1", "stagnant_3_rounds"
};

// Who survives; see population.h.
struct PopulationRule {
  std::string policy = "top";
  int top_k = 1;
  int most_lineages = 4;
  int islands = 4;
  int migration_interval = 5;
  int most_cells = 16;
  bool by_point = false;  // no ties: scores are compared as they are
  uint64_t random_seed = 0;
};

// How far the model was off so far: of variants that were modelled and measured, both as ratios by
// the seed's.
struct ModelError {
  size_t compared = 0;   // variants
  double offset = 0;     // mean of the logarithm of measured by modelled: what all have in common
  double error = 0;      // standard deviation of it: what orders them wrongly
  size_t ruled_out = 0;  // variants that were not measured for what the model said
  size_t spot_checks = 0;
  size_t wrong = 0;  // spot checks that survived
};

struct SelectionRequest {
  std::vector<BenchCase> cases;
  int round = 1;
  PopulationRule rule;
  Evaluated seed;
  std::vector<Evaluated> variants;  // of this round, in the order of their places
  std::vector<Survivor> before;     // the survivors of the round before; none: the seed
  std::vector<int> places;          // this round's, as the round before gave them
  int lineages_made = 0;            // by the rounds before
  ModelError model;                 // in the rounds before
};

struct Ranked {
  Evaluated variant;
  double score = 0;
  double half_width = 0;  // of the 95 % interval of the score's logarithm
  std::string same_as;    // the survivor with the same program or the same parameters, or empty
  std::optional<double> modelled = {};  // the ratio by the seed's, beside the measured one
};

struct Selection {
  int round = 1;
  std::string time_kind;  // "none" where nothing has a time
  double resolution = 0;  // scores nearer than this share are ties
  bool is_relative =
      true;  // scores are speedups over the seed; false: 1 / seconds, the seed has no time
  std::vector<Survivor> survivors;  // the best first
  // By place of the next round: its parent, as a number of survivors, from 1. Empty: the seed.
  std::vector<int> places;
  std::vector<Pruned> pruned;        // in this round
  int lineages_made = 0;             // by this round, too
  std::vector<Ranked> ranking;       // all in contention, by score
  std::vector<Evaluated> rejected;   // of this round
  std::vector<Evaluated> ruled_out;  // of this round, by the model
  Evaluated seed;
  ModelError model;  // with this round
};

// To six digits, so that another machine's logarithm gives the same bytes.
double rounded(double value);

// The score of a variant is its speedup over the seed: the weighted geometric mean, over the bench
// cases, of the seed's time by the variant's. A mean of ratios, so that a long case does not
// outvote a short one, and a geometric one, so that the ranking does not depend on what the times
// are divided by. What was measured beside the seed counts by that ratio, and not by times of
// different runs. Where the seed has no time (it was rejected) the times are divided by one second
// instead: the same ranking.
//
// In contention are this round's variants, and the survivors of the round before (in the first
// round, the seed), as far as no step rejected them; but none survives whose time was not confirmed
// by the longer measurement. What the first cut ruled out has no time and is in no ranking. Scores
// nearer than the clock's resolution (3 % for modelled time: the model orders no variants closer
// than that; 1 % for measured, or as far as their intervals leave open) are ties, and of these the
// earliest variant goes first. A variant with the program or the parameters of a survivor is not a
// second lineage. Who of them survives is the rule's policy.
//
// Bad input: modelled and measured times, which are never ranked together.
Result<Selection> select(const SelectionRequest& request);

}  // namespace evolve::search
