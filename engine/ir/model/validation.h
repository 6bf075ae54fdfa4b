// How far the model is to be believed: its times held against measured ones.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/ir/model/calibration.h"

namespace evolve::ir {

// Pairs of observations whose measured times differ by so much, and how many of them the model puts
// in their order. A difference is the longer time by the shorter one, less 1.
struct OrderedPairs {
  double least = 0;  // difference
  double most = 0;   // below this one; infinite: no matter how far
  size_t pairs = 0;
  size_t right = 0;
};

// Those of one kind.
struct Family {
  std::string name;
  size_t rows = 0;
  double error = 0;  // mean of |scale · modelled / measured - 1|
};

struct Validation {
  std::vector<std::optional<double>> modelled;  // seconds, by observation, without the scale
  std::vector<std::string> not_modelled;        // why, of those that have none
  // The median of measured by modelled times. One number for all rows: a clock that is not known
  // exactly is no fault of the order.
  double scale = 1;
  double error = 0;                     // mean of |scale · modelled / measured - 1|
  double rank_correlation = 0;          // Spearman's
  std::vector<OrderedPairs> of_groups;  // pairs within a group: the same task, other tilings
  std::vector<OrderedPairs> of_all;
  std::vector<Family> families;  // the worst first
};

// Bad input: no observation is modelled, or one has no time.
Result<Validation> validate(const Device& device, std::span<const Observation> observations);

}  // namespace evolve::ir
