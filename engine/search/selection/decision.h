// The one decision on times that were measured: whether a program is faster than another. Pure.
//
// A sample of both is a block: anchor, candidate, candidate, anchor, or the mirror image, so that
// whatever drifts evenly over a block falls out of its ratio. Blocks come from several runs, each
// with both programs compiled and laid out anew, for a run has its own luck (where its memory lies,
// say, or what else the machine did), which more blocks of it do not average out. So the unit of
// the statistics is the run: of each the mean of the middle half of its blocks' log ratios, and of
// those the mean, with Student's 95 % interval. (A bootstrap over as few as one can afford gives
// intervals that are too narrow: five of them cover 84 % where 95 % are meant.)
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/core/result.h"

namespace evolve::search {

// Seconds a call.
struct Block {
  std::array<double, 2> anchor{};
  std::array<double, 2> candidate{};
};

// What a measure step wrote down (`samples.json`, rules/README.md).
struct Samples {
  std::string device;    // "cpu: AMD EPYC 9B45"
  std::string protocol;  // how it was measured
  std::vector<std::vector<Block>> runs;
};

// External error where it is no such record; `record` names it there.
Result<Samples> read_samples(const nlohmann::json& from, const std::string& record);

struct DecisionRule {
  // Ratios nearer to one than this share are no difference that anybody would want to know of.
  double min_effect = 0.005;
  // Where an interval that holds "no difference" is wider, to one side, that is no tie: such
  // samples are unstable.
  double most_half_width = 0.05;
  // Below it no sample can be: what the device would need at its peak. Seconds.
  double floor_seconds = 0;
};

enum class Comparison { faster, slower, tie, unstable, not_comparable };
// "faster", "slower", "tie", "unstable", "not comparable".
const char* comparison_name(Comparison comparison);

// Of a program's time by another's of the same runs, with its 95 % interval.
struct Ratio {
  double value = 1;
  double low = 1, high = 1;

  // Of the interval in logarithms.
  [[nodiscard]] double half_width() const;
};

// {"ratio", "low", "high"}, all above 0. External error where they are not; `record` names it
// there.
Result<Ratio> read_ratio(const nlohmann::json& from, const std::string& record);
nlohmann::json ratio_record(const Ratio& ratio);

struct Decision {
  Comparison comparison = Comparison::not_comparable;
  Ratio ratio;  // the candidate's by the anchor's; means nothing where they are not comparable
  std::string reason;  // why they are not, or why it is unstable
};

// The candidate beside its anchor. Faster or slower: the whole interval lies beyond the least
// effect.
Decision decide(const Samples& samples, const DecisionRule& rule);

// Two measurements of the same pair, as one against the other: the ratio is the later ratio by the
// earlier one (Welch's interval); a tie: they agree.
Decision compare(const Samples& earlier, const Samples& later, const DecisionRule& rule);

}  // namespace evolve::search
