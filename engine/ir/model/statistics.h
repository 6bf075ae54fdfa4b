// Statistics of lists of numbers.
#pragma once

#include <vector>

namespace evolve::ir {

// Returns the median. REQUIRES: `values` is not empty.
double median(std::vector<double> values);
// Returns Spearman's rank correlation: the correlation of the values' ranks. Equal values have the
// mean of their ranks. 0: all values of one list are equal.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace evolve::ir
