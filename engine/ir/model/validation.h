// The validation of the model: how well its times agree with measured ones.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/ir/model/calibration.h"

namespace evolve::ir {

// Pairs of observations whose measured times differ by an amount within these limits, and how many
// of them the model orders right. The difference is the longer time divided by the shorter one,
// less 1.
struct OrderedPairs {
  double least = 0;  // difference
  double most = 0;   // exclusive; infinite: no limit
  size_t pairs = 0;
  size_t right = 0;
};

// The observations of one kind of kernel.
struct Family {
  std::string name;
  size_t rows = 0;
  double error = 0;  // mean of |scale · modelled / measured - 1|
};

struct Validation {
  std::vector<std::optional<double>> modelled;  // seconds, by observation, without the scale
  std::vector<std::string> not_modelled;        // why, for each observation without a time
  // The median of measured divided by modelled times. All rows have the same scale, so an inexact
  // clock does not change their order.
  double scale = 1;
  double error = 0;                     // mean of |scale · modelled / measured - 1|
  double rank_correlation = 0;          // Spearman's
  std::vector<OrderedPairs> of_groups;  // pairs within a group: the same task, other tilings
  std::vector<OrderedPairs> of_all;
  std::vector<Family> families;  // the worst first
};

// Compares the model with the observations. Bad input: no observation is modelled, or an
// observation has no time.
Result<Validation> validate(const Device& device, std::span<const Observation> observations);

}  // namespace evolve::ir
