#include "engine/search/space/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "tests/catch.h"

using namespace evolve::search;

namespace {

using Cost = std::function<std::optional<double>(const Grid&, uint64_t)>;

Grid make_grid(const std::vector<std::vector<double>>& values) {
  std::vector<Axis> axes;
  axes.reserve(values.size());
  for (const std::vector<double>& list : values) axes.push_back({list.size(), list});
  auto grid = Grid::make(axes);
  if (!grid) FAIL(grid.error().message);
  return *std::move(grid);
}

std::unique_ptr<Sampler> sampler_of(const std::string& name, const Grid& grid, uint64_t seed,
                                    size_t batch = kBatch) {
  auto sampler = make_sampler(name, grid, seed, batch);
  if (!sampler) FAIL(sampler.error().message);
  return *std::move(sampler);
}

std::vector<uint64_t> next_batch(Sampler& sampler, size_t size) {
  std::vector<uint64_t> out;
  while (out.size() < size) {
    auto point = sampler.next();
    if (!point) break;
    out.push_back(*point);
  }
  return out;
}

// Returns the points that a sampler asks for, `batch` at once and about `most` in all, until a
// point costs `wanted` or less.
std::vector<uint64_t> asked(const std::string& name, const Grid& grid, uint64_t seed,
                            const Cost& cost, size_t most, double wanted = 0, size_t batch = 1) {
  auto sampler = sampler_of(name, grid, seed, batch);
  std::vector<uint64_t> out;
  while (out.size() < most) {
    const std::vector<uint64_t> points = next_batch(*sampler, batch);
    if (points.empty()) break;
    for (uint64_t point : points) {
      out.push_back(point);
      auto answer = cost(grid, point);
      sampler->tell(point, answer);
      if (answer && *answer <= wanted) return out;
    }
  }
  return out;
}

double value(const Grid& grid, uint64_t point, size_t axis) {
  return grid.axes()[axis].values[grid.place(point, axis)];
}

// Returns the cost of a tile. The best tile is 64 by 256 with a depth of 4. Tiles of more than
// 131,072 elements do not fit.
std::optional<double> tile_cost(const Grid& grid, uint64_t point) {
  const double rows = value(grid, point, 0);
  const double columns = value(grid, point, 1);
  const double depth = value(grid, point, 2);
  if (rows * columns * depth > 131072) return std::nullopt;
  return 1 + std::abs(std::log2(rows / 64)) + 0.5 * std::abs(std::log2(columns / 256)) +
         0.3 * std::abs(depth - 4);
}

const std::vector<std::vector<double>> kTiles = {{8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 1024},
                                                 {8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 1024},
                                                 {1, 2, 3, 4, 5, 6, 7, 8}};

size_t median(std::vector<size_t> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

}  // namespace

TEST_CASE("a grid numbers its points, the last axis counting fastest") {
  const Grid grid = make_grid({{1, 2}, {3}, {5, 6, 7}});
  CHECK(grid.size() == 6);
  CHECK(grid.place(4, 0) == 1);
  CHECK(grid.place(4, 1) == 0);
  CHECK(grid.place(4, 2) == 1);
  CHECK(grid.moved(4, 0, 0) == 1);
  CHECK(grid.moved(4, 2, 2) == 5);
  CHECK(grid.middle() == 1);
  CHECK_FALSE(Grid::make({}));
  CHECK_FALSE(Grid::make({{2, {1, 2}}, {0, {}}}));
  const std::vector<Axis> many(63, Axis{2, {1, 2}});
  CHECK_FALSE(Grid::make(many));
}

TEST_CASE("every sampler asks for each point once, and then for none, whatever the batch") {
  const std::vector<Grid> grids = {make_grid({{1, 2, 3}, {1, 2, 4, 8}, {0, 1}, {7}}),
                                   make_grid({{1, 2, 3, 4, 5, 6, 7}, {-1, 0.5}}), make_grid({{7}}),
                                   make_grid({{1}, {2}, {3}}),
                                   *Grid::make({{5, {}}, {1, {}}, {2, {0, 1}}, {3, {}}})};
  auto is_valid = [](const Grid&, uint64_t point) {
    return point % 3 == 0 ? std::nullopt
                          : std::optional<double>(1.0 + static_cast<double>(point % 5));
  };
  auto never = [](const Grid&, uint64_t) { return std::optional<double>(); };
  auto same = [](const Grid&, uint64_t) { return std::optional<double>(1); };
  for (const std::string& name : sampler_names()) {
    for (const Grid& grid : grids) {
      for (const Cost& cost : {Cost(is_valid), Cost(never), Cost(same)}) {
        for (size_t batch : {1, 2, 7, 100}) {
          INFO(name << ", batches of " << batch);
          const std::vector<uint64_t> points = asked(name, grid, 1, cost, 100, 0, batch);
          CHECK(points.size() == grid.size());
          CHECK(std::set<uint64_t>(points.begin(), points.end()).size() == grid.size());
          CHECK(*std::max_element(points.begin(), points.end()) < grid.size());
        }
      }
    }
  }
}

TEST_CASE("a sampler is told of points that it never asked for, and does not ask for them") {
  const Grid grid = make_grid(kTiles);
  for (const std::string& name : sampler_names()) {
    INFO(name);
    auto sampler = sampler_of(name, grid, 1);
    std::set<uint64_t> known;
    Random random(3);
    for (int i = 0; i < 60; ++i) {
      const uint64_t point = random.below(grid.size());
      sampler->tell(point, tile_cost(grid, point));
      sampler->tell(point, 1e-9);  // too late: the first answer counts
      known.insert(point);
    }
    for (uint64_t point : next_batch(*sampler, 200)) CHECK(known.insert(point).second);
  }
}

TEST_CASE("the first answer about a point counts, and the best points come first") {
  Knowledge knowledge(make_grid({{1, 2, 3, 4, 5}}));
  knowledge.give(3);
  knowledge.give(1);
  CHECK(knowledge.pending() == std::vector<uint64_t>{3, 1});
  knowledge.tell(3, 2);
  knowledge.tell(3, 1);
  knowledge.tell(0, std::nullopt);
  knowledge.tell(4, 2);
  knowledge.tell(2, 1.5);
  knowledge.give(2);
  CHECK(knowledge.pending() == std::vector<uint64_t>{1});
  CHECK(knowledge.told().size() == 4);
  std::vector<uint64_t> ranked;
  for (const Knowledge::Observed& told : knowledge.ranked()) ranked.push_back(told.point);
  CHECK(ranked == std::vector<uint64_t>{2, 3, 4});
  CHECK(knowledge.knows_all());
}

TEST_CASE("the same seed and answers give the same points") {
  const Grid grid = make_grid(kTiles);
  for (const std::string& name : sampler_names()) {
    INFO(name);
    CHECK(asked(name, grid, 4, tile_cost, 60) == asked(name, grid, 4, tile_cost, 60));
    CHECK(asked(name, grid, 4, tile_cost, 60, 0, 6) == asked(name, grid, 4, tile_cost, 60, 0, 6));
    if (name != "grid")
      CHECK(asked(name, grid, 4, tile_cost, 60) != asked(name, grid, 5, tile_cost, 60));
  }
}

TEST_CASE(
    "the model finds the best point in a fraction of what chance needs, and keeps to what is "
    "valid") {
  const Grid grid = make_grid(kTiles);
  std::vector<size_t> by_model;
  std::vector<size_t> by_chance;
  size_t invalid = 0;
  for (uint64_t seed = 0; seed < 15; ++seed) {
    auto counted = [&](const Grid& of, uint64_t point) {
      auto cost = tile_cost(of, point);
      invalid += cost ? 0 : 1;
      return cost;
    };
    by_model.push_back(asked("model", grid, seed, counted, grid.size(), 1).size());
    by_chance.push_back(asked("random", grid, seed, tile_cost, grid.size(), 1).size());
  }
  CHECK(median(by_model) * 5 < median(by_chance));
  size_t all = 0;
  for (size_t count : by_model) all += count;
  CHECK(invalid * 5 < all);  // a third of the grid is not valid
}

TEST_CASE("the model looks at the ends of values, far from what was good so far") {
  const std::vector<double> sizes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  const Grid grid = make_grid({sizes, sizes, sizes});
  // The cost has a valley around the middle, but is least in a corner that nothing leads to.
  auto cost = [](const Grid& of, uint64_t point) {
    if (value(of, point, 0) == 16 && value(of, point, 1) == 1 && value(of, point, 2) == 16)
      return std::optional<double>(1);
    double sum = 2;
    for (size_t axis = 0; axis < 3; ++axis) sum += std::abs(value(of, point, axis) - 8);
    return std::optional<double>(sum);
  };
  std::vector<size_t> counts;
  for (uint64_t seed = 0; seed < 9; ++seed)
    counts.push_back(asked("model", grid, seed, cost, 400, 1).size());
  CHECK(median(counts) < 150);  // chance needs 2,000
}

TEST_CASE("the model accepts values that are not numbers") {
  // Along each of the two axes, one of 40 names is good.
  auto grid = Grid::make({{40, {}}, {40, {}}});
  REQUIRE(grid);
  auto cost = [](const Grid& of, uint64_t point) {
    return std::optional<double>(1.0 + (of.place(point, 0) == 17 ? 0 : 1) +
                                 (of.place(point, 1) == 23 ? 0 : 1));
  };
  std::vector<size_t> counts;
  for (uint64_t seed = 0; seed < 9; ++seed)
    counts.push_back(asked("model", *grid, seed, cost, 1600, 1).size());
  CHECK(median(counts) < 200);  // chance needs 800
}

TEST_CASE("a grid that is too large to list is searched, too") {
  const std::vector<double> powers = {1, 2, 4, 8, 16, 32, 64, 128};
  const Grid grid = make_grid(std::vector<std::vector<double>>(20, powers));
  auto cost = [](const Grid& of, uint64_t point) {
    double sum = 1;
    for (size_t axis = 0; axis < 20; ++axis) sum += std::abs(std::log2(value(of, point, axis)) - 5);
    return std::optional<double>(sum);
  };
  const std::vector<uint64_t> points = asked("model", grid, 1, cost, 150);
  double best = 1e9;
  for (uint64_t point : points) best = std::min(best, *cost(grid, point));
  CHECK(best < 16);  // the middle costs 41, a random point 46
}

TEST_CASE("a batch of the model's needs hardly more points than one after another") {
  const Grid grid = make_grid(kTiles);
  std::vector<size_t> one;
  std::vector<size_t> batch;
  for (uint64_t seed = 0; seed < 15; ++seed) {
    one.push_back(asked("model", grid, seed, tile_cost, grid.size(), 1).size());
    batch.push_back(asked("model", grid, seed, tile_cost, grid.size(), 1, 16).size());
  }
  CHECK(median(batch) < median(one) + 16);
}

TEST_CASE("a batch of the model's spreads") {
  const Grid grid = make_grid(kTiles);
  double sum = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    auto sampler = sampler_of("model", grid, seed);
    Random random(seed);
    for (int i = 0; i < 40; ++i) {
      const uint64_t point = random.below(grid.size());
      sampler->tell(point, tile_cost(grid, point));
    }
    const std::vector<uint64_t> points = next_batch(*sampler, 12);
    for (uint64_t a : points) {
      for (uint64_t b : points) {
        for (size_t axis = 0; axis < 3; ++axis)
          sum += std::abs(static_cast<double>(grid.place(a, axis)) -
                          static_cast<double>(grid.place(b, axis)));
      }
    }
  }
  CHECK(sum / (20 * 12 * 11) > 4.3);  // mean distance; 3.8 if pending points did not matter
}

TEST_CASE("a batch of latin has every value of an axis as often as any other") {
  const Grid grid = make_grid({{1, 2}, {1, 2, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}});
  auto sampler = sampler_of("latin", grid, 1, 12);
  const std::vector<uint64_t> points = next_batch(*sampler, 12);
  for (size_t axis = 0; axis < grid.axes().size(); ++axis) {
    const size_t count = grid.axes()[axis].count;
    std::vector<size_t> seen(count);
    for (uint64_t point : points) ++seen[grid.place(point, axis)];
    CHECK(seen == std::vector<size_t>(count, 12 / count));
  }
}

TEST_CASE("local takes one step from the best, in one axis, and more when these are used up") {
  const Grid grid = make_grid({{1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}});
  auto steps_from = [&](uint64_t from, uint64_t point) {
    int steps = 0;
    for (size_t axis = 0; axis < 2; ++axis)
      steps += std::abs(static_cast<int>(grid.place(point, axis)) -
                        static_cast<int>(grid.place(from, axis)));
    return steps;
  };
  auto sampler = sampler_of("local", grid, 1);
  const uint64_t best = 7;  // in the second row, the third column: 4 points at one step, 7 at two
  sampler->tell(best, 1);
  std::vector<int> steps;
  for (uint64_t point : next_batch(*sampler, 12)) {
    sampler->tell(point, std::nullopt);
    steps.push_back(steps_from(best, point));
  }
  CHECK(steps == std::vector<int>{1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3});
  // The search goes on from a better point. Along an axis of names, all names are neighbours.
  auto names = Grid::make({{9, {}}, {9, {}}});
  REQUIRE(names);
  auto by_name = sampler_of("local", *names, 1);
  by_name->tell(40, 1);
  for (uint64_t point : next_batch(*by_name, 16))
    CHECK(((names->place(point, 0) == 4) != (names->place(point, 1) == 4)));
}

TEST_CASE("evolution, tpe and local find the best point in a fraction of what chance needs") {
  const Grid grid = make_grid(kTiles);
  auto needed = [&](const std::string& name, size_t batch) {
    std::vector<size_t> counts;
    for (uint64_t seed = 0; seed < 25; ++seed)
      counts.push_back(asked(name, grid, seed, tile_cost, grid.size(), 1, batch).size());
    return median(counts);
  };
  const size_t by_chance = needed("random", 1);
  for (const std::string name : {"evolution", "tpe", "local"}) {
    for (size_t batch : {1, 8}) {
      INFO(name << ", batches of " << batch);
      CHECK(needed(name, batch) * 3 < by_chance);
    }
  }
}

TEST_CASE("an unknown sampler is refused with the nearest name") {
  auto sampler = make_sampler("modle", make_grid({{1, 2}}), 1);
  REQUIRE_FALSE(sampler);
  CHECK(sampler.error().message == "unknown sampler 'modle', did you mean 'model'?");
}
