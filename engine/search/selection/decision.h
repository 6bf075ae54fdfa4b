// The decision on measured times: whether a program is faster than another. Pure.
//
// A block times both programs in turn: anchor, candidate, candidate, anchor, or the mirror image.
// So a drift that is even over a block cancels in the block's ratio. Blocks come from several runs,
// and each run compiles and lays out both programs again. Each run has its own conditions, such as
// the place of its memory and the other load of the machine. More blocks of the same run do not
// average these out. So the unit of the statistics is the run. The value of a run is the mean of
// the middle half of its blocks' log ratios. The result is the mean over runs, with Student's 95 %
// interval. (A bootstrap over so few runs gives intervals that are too narrow: with five runs they
// cover 84 % instead of 95 %.)
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/core/result.h"

namespace evolve::search {

// The times of one block, in seconds a call.
struct Block {
  std::array<double, 2> anchor{};
  std::array<double, 2> candidate{};
};

// The samples that a measure step wrote (`samples.json`, rules/README.md).
struct Samples {
  std::string device;    // "cpu: AMD EPYC 9B45"
  std::string protocol;  // how the times were measured
  std::vector<std::vector<Block>> runs;
};

// Reads samples. External error: the format is wrong. `record`: the name of the record in the
// error.
Result<Samples> read_samples(const nlohmann::json& from, const std::string& record);

struct DecisionRule {
  // The smallest difference of interest: a ratio nearer to 1 than this share does not matter.
  double min_effect = 0.005;
  // The largest half width of a tie's interval, as a share. If the interval is wider, and the
  // candidate is neither faster nor slower, the samples are unstable.
  double most_half_width = 0.05;
  // The seconds that the device needs at its peak. No sample can be shorter.
  double floor_seconds = 0;
};

enum class Comparison { faster, slower, tie, unstable, not_comparable };
// Returns "faster", "slower", "tie", "unstable" or "not comparable".
const char* comparison_name(Comparison comparison);

// A program's time divided by another's in the same runs, with its 95 % interval.
struct Ratio {
  double value = 1;
  double low = 1, high = 1;

  // Returns half the width of the interval, in logarithms.
  [[nodiscard]] double half_width() const;
};

// Reads {"ratio", "low", "high"}. External error: a member is missing or not above 0. `record`: the
// name of the record in the error.
Result<Ratio> read_ratio(const nlohmann::json& from, const std::string& record);
nlohmann::json ratio_record(const Ratio& ratio);

struct Decision {
  Comparison comparison = Comparison::not_comparable;
  Ratio ratio;         // the candidate's time by the anchor's; no meaning if not comparable
  std::string reason;  // why the samples are not comparable, or unstable
};

// Compares the candidate with its anchor. Faster or slower: the whole interval lies beyond the
// rule's min_effect.
Decision decide(const Samples& samples, const DecisionRule& rule);

// Compares two measurements of the same pair. The ratio is the later ratio divided by the earlier
// one (Welch's interval). A tie: the measurements agree.
Decision compare(const Samples& earlier, const Samples& later, const DecisionRule& rule);

}  // namespace evolve::search
