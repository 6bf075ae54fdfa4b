// The sampler that learns: it tries first what its regression expects to improve most.
//
// The first points are the grid's middle (the ends of a list of block sizes are rarely good, and
// more often not valid) and steps away from the best one so far, of some parameters and by at most
// a quarter of their values. From then on a point is the one with the largest expected improvement
// (Jones, Schonlau, Welch: Efficient global optimization, 1998) times its chance to be valid, by
// two forests: one of the logarithms of the costs, one of what was valid. Of three times once only
// points that differ in one parameter from one of the best count, so that an optimum that is a
// needle is found from beside it; once only those that are the best one with some parameters at
// the ends of their values, where limits have put many an optimum and forests know least (where
// there are so few parameters that these can all be looked at); else any.
//
// While points are pending, the forest of the costs takes them to have cost what it expects of them
// (the constant liar, here with the lie of the kriging believer: Ginsbourger, Le Riche, Carraro:
// Kriging is well-suited to parallelize optimization, 2010): there is little left to gain beside
// them, and a batch spreads.
//
// What the forests see of a point: the places of its values; the power of two that divides each,
// which is what alignment asks for; and the products of any two, since limits on threads, registers
// and memory are limits of products.
#pragma once

#include <vector>

#include "engine/search/space/forest.h"
#include "engine/search/space/sampler.h"

namespace evolve::search {

class ModelSampler : public Sampler {
 public:
  ModelSampler(Grid grid, uint64_t seed);

 private:
  // A column of what the forests see: the sum, over some axes, of a number that each of their
  // values has.
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
  // Adds those that have one to `most` of the ordered axes from number `first` on at an end.
  void add_ends(uint64_t from, size_t first, size_t most, std::vector<uint64_t>& out) const;
  [[nodiscard]] std::vector<uint64_t> ends_of_best() const;
  std::vector<uint64_t> candidates();
  uint64_t most_promising(const std::vector<uint64_t>& candidates, const Forest& costs);

  std::vector<size_t> free_axes_;     // with more than one value
  std::vector<size_t> ordered_axes_;  // of these, whose values are numbers
  std::vector<Column> columns_;
  Forest costs_;
  Forest validity_;                  // empty while all were valid
  size_t fitted_ = 0;                // points told of that the forests know
  std::vector<uint64_t> promising_;  // of the last candidates
};

}  // namespace evolve::search
