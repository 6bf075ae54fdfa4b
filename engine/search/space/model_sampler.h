// The sampler that learns. It first tries the points from which its regression expects the most.
//
// The first point is the grid's middle, because the ends of a list of block sizes are rarely good,
// and more often not valid. The next points are steps away from the best point so far. In a step
// some parameters move, each by at most a quarter of its values. From then on the sampler chooses
// the point with the largest expected improvement (Jones, Schonlau, Welch: Efficient global
// optimization, 1998) times its chance to be valid. Two forests predict these: one the logarithms
// of the costs, one the validity.
//
// Each choice draws one of three kinds of candidates, with the same chance:
//   * points from the whole space, the best candidates of the last choice, and the second kind;
//   * points that differ in one parameter from one of the best, so that an isolated optimum is
//     found from a point next to it;
//   * the best point with some parameters at the ends of their values. Many optima are there,
//     because of limits, and forests know least about the ends. If there are too many of these
//     points to look at all of them, this kind is left out.
//
// While points are pending, the forest of the costs is fitted as if each had the cost that the
// forest expects (the constant liar, here with the lie of the kriging believer: Ginsbourger, Le
// Riche, Carraro: Kriging is well-suited to parallelize optimization, 2010). So little improvement
// is expected next to pending points, and a batch spreads.
//
// The forests see three kinds of numbers for a point. The first are the places of its values. The
// second are the powers of two that divide each value, because alignment depends on them. The third
// are the products of any two values, because limits on threads, registers and memory are limits of
// products.
#pragma once

#include <vector>

#include "engine/search/space/forest.h"
#include "engine/search/space/sampler.h"

namespace evolve::search {

class ModelSampler : public Sampler {
 public:
  ModelSampler(Grid grid, uint64_t seed);

 private:
  // A column of the forests' input. Each value of an axis has a number, and the column is the sum
  // of these numbers over some axes.
  struct Column {
    std::vector<size_t> axes;
    std::vector<std::vector<float>> terms;  // by axis in `axes`, by place
  };
  struct Scored {
    double score = 0;
    uint64_t point = 0;
  };
  // Points and the logarithms of their costs.
  struct Sample {
    Matrix rows;
    std::vector<double> log_costs;
  };

  uint64_t choose() override;
  void add_columns();
  void append_row(uint64_t point, Matrix& matrix) const;
  uint64_t first_point();
  uint64_t step_from(uint64_t from);
  [[nodiscard]] Sample valid_ones() const;
  void fit();
  Forest fit_with_lies();
  [[nodiscard]] std::vector<uint64_t> beside_best() const;
  // Moves one to `most` of the ordered axes of `from` to an end, in every way, and adds the unknown
  // points among the results. The ordered axes before number `first` stay as they are.
  void add_ends(uint64_t from, size_t first, size_t most, std::vector<uint64_t>& out) const;
  [[nodiscard]] std::vector<uint64_t> ends_of_best() const;
  std::vector<uint64_t> candidates();
  uint64_t most_promising(const std::vector<uint64_t>& candidates, const Forest& costs);

  std::vector<size_t> free_axes_;     // with more than one value
  std::vector<size_t> ordered_axes_;  // the free axes whose values are numbers
  std::vector<Column> columns_;
  Forest costs_;
  Forest validity_;                  // empty while all told points are valid
  size_t fitted_ = 0;                // number of told points that the forests know
  std::vector<uint64_t> promising_;  // the best of the last candidates
};

}  // namespace evolve::search
