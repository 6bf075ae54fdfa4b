#include "engine/search/space/forest.h"

#include "tests/catch.h"

using namespace evolve::search;

namespace {

// 400 rows of two columns with values from 0 to 19, and a target for each row.
struct Sample {
  Matrix rows{2, {}};
  std::vector<double> targets;

  explicit Sample(float (*target)(float, float)) {
    for (int i = 0; i < 20; ++i) {
      for (int j = 0; j < 20; ++j) {
        rows.cells.push_back(static_cast<float>(i));
        rows.cells.push_back(static_cast<float>(j));
        targets.push_back(target(static_cast<float>(i), static_cast<float>(j)));
      }
    }
  }
};

double at(const Forest& forest, float a, float b) {
  const std::vector<float> row = {a, b};
  return forest.at(row).mean;
}

}  // namespace

TEST_CASE("a forest repeats its samples, even with steps") {
  const Sample sample([](float a, float b) { return a < 7 && b >= 12 ? 5.0F : a * 0.1F; });
  Random random(1);
  const Forest forest = Forest::fit(sample.rows, sample.targets, 30, random);
  for (size_t row = 0; row < sample.targets.size(); ++row)
    CHECK(forest.at(sample.rows.row(row)).mean == Approx(sample.targets[row]).margin(1e-6));
}

TEST_CASE("a forest is unsure where it has no samples, and sure where it has some") {
  const Matrix rows{1, {0, 1, 2, 3, 16, 17, 18, 19}};
  const std::vector<double> targets = {1, 1, 1, 1, 9, 9, 9, 9};
  Random random(3);
  const Forest forest = Forest::fit(rows, targets, 50, random);
  const std::vector<float> known = {2};
  const std::vector<float> unknown = {9.5};
  CHECK(forest.at(known).variance == Approx(0).margin(1e-9));
  CHECK(forest.at(known).mean == Approx(1));
  CHECK(forest.at(unknown).variance > 1);
  CHECK(forest.at(unknown).mean > 2);
  CHECK(forest.at(unknown).mean < 8);
}

TEST_CASE("a forest does not split along columns without information") {
  const Matrix rows{2, {4, 1, 4, 1, 4, 1}};
  const std::vector<double> targets = {1, 2, 6};
  Random random(1);
  const Forest forest = Forest::fit(rows, targets, 5, random);
  const std::vector<float> row = {4, 1};
  CHECK(forest.at(row).mean == Approx(3));
  CHECK(forest.at(row).variance == Approx(14.0 / 3));  // the variance of 1, 2 and 6
}

TEST_CASE("the same random seed grows the same forest") {
  const Sample sample([](float a, float b) { return a * b; });
  auto grown = [&](uint64_t seed) {
    Random random(seed);
    return at(Forest::fit(sample.rows, sample.targets, 7, random), 3.5F, 8.5F);
  };
  CHECK(grown(5) == grown(5));
  CHECK(grown(5) != grown(6));
}
