// What is said of many numbers at once.
#pragma once

#include <vector>

namespace evolve::ir {

// REQUIRES: `values` is not empty.
double median(std::vector<double> values);
// Spearman's: the correlation of the places that values have among all, equal ones the mean of
// theirs; 0 where all of one are equal.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace evolve::ir
