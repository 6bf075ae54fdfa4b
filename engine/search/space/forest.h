// Extremely randomised trees: a regression that fits steps, ridges and interactions, and estimates
// its own uncertainty.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/search/space/random.h"

namespace evolve::search {

// Rows of numbers, one after the other.
struct Matrix {
  size_t width = 0;
  std::vector<float> cells;

  [[nodiscard]] std::span<const float> row(size_t number) const {
    return std::span(cells).subspan(number * width, width);
  }
};

// The forest of Geurts, Ernst, Wehenkel: Extremely randomized trees (Machine Learning 63, 2006).
// Each tree sees all rows. A node draws half of the columns, and for each column a threshold
// between its smallest and its largest value. The node takes the threshold that leaves the least
// variance. It is a leaf if its targets are the same or its rows cannot be split.
class Forest {
 public:
  struct Prediction {
    double mean = 0;
    double variance = 0;  // of the trees about their mean, and within their leaves
  };

  // Grows the trees. REQUIRES: as many rows as targets, at least one; finite numbers.
  static Forest fit(const Matrix& rows, std::span<const double> targets, int trees, Random& random);

  [[nodiscard]] Prediction at(std::span<const float> row) const;
  [[nodiscard]] bool is_empty() const { return roots_.empty(); }

 private:
  struct Node {
    int column = -1;  // -1: a leaf
    float threshold = 0;
    uint32_t left = 0;  // values up to the threshold
    uint32_t right = 0;
    double mean = 0;  // of a leaf's targets
    double variance = 0;
  };
  class Growth;

  std::vector<Node> nodes_;
  std::vector<uint32_t> roots_;
};

}  // namespace evolve::search
