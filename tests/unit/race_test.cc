// Tests of the race: which variants are measured again.
#include "engine/search/selection/race.h"

#include <cmath>

#include "tests/catch.h"

using namespace evolve::search;

namespace {

using Ids = std::vector<evolve::VariantId>;

Contender runner(evolve::VariantId id, double ratio, double half_width) {
  return {id, {std::log(ratio), half_width}};
}

Ids who_is_in(const std::vector<Admission>& entries) {
  Ids out;
  for (const Admission& entry : entries) {
    CHECK(entry.is_in == entry.reason.empty());
    if (entry.is_in) out.push_back(entry.id);
  }
  return out;
}

}  // namespace

TEST_CASE(
    "a runner that is clearly slower than the best is out, and one that may be among them stays") {
  const std::vector<Contender> runners = {runner("v0001", 0.9, 0.02), runner("v0002", 0.8, 0.02),
                                          runner("v0003", 0.83, 0.02),
                                          runner("v0004", 0.82, 0.001)};
  const auto entries = race(runners, {{}}, 1, 4);
  CHECK(who_is_in(entries) == Ids{"v0002", "v0003"});
  CHECK(entries[0].reason == "clearly slower than the best: 0.900 of the seed's time");
  CHECK(who_is_in(race(runners, {{}}, 2, 4)) == Ids{"v0002", "v0003", "v0004"});
}

TEST_CASE("a variant that survives anyway sets the pace, too") {
  const std::vector<Contender> runners = {runner("v0001", 0.97, 0.01), runner("v0002", 1.1, 0.02)};
  CHECK(who_is_in(race(runners, {{}}, 1, 4)) == Ids{"v0001"});
  CHECK(who_is_in(race(runners, {{"v0009", {std::log(0.5), 0.01}}}, 1, 4)).empty());
  CHECK(who_is_in(race(runners, {{"v0009", {std::log(0.5), 0.01}}}, 2, 4)) == Ids{"v0001"});
  // There are fewer runners than may survive, so all of them stay in the race.
  CHECK(who_is_in(race(runners, {{}}, 4, 4)) == Ids{"v0001", "v0002"});
}

TEST_CASE("only one of two twins sets the pace, because only one of them survives") {
  std::vector<Contender> runners = {runner("v0001", 0.5, 0.01), runner("v0002", 0.5, 0.01),
                                    runner("v0003", 0.8, 0.01), runner("v0004", 0.9, 0.01)};
  CHECK(who_is_in(race(runners, {{}}, 2, 4)) == Ids{"v0001", "v0002"});
  runners[0].programs = runners[1].programs = {{"one", "p"}};
  runners[2].programs = {{"one", "q"}};
  CHECK(who_is_in(race(runners, {{}}, 2, 4)) == Ids{"v0001", "v0002", "v0003"});
  // One of the twins may have survived before.
  runners.erase(runners.begin());
  CHECK(who_is_in(race(runners, {{"v0001", {std::log(0.5), 0.01}, {{"one", "p"}}}}, 2, 4)) ==
        Ids{"v0002", "v0003"});
}

TEST_CASE("of the remaining runners, the best are measured again, and no more than requested") {
  std::vector<Contender> runners;
  runners.reserve(6);
  for (int i = 0; i < 6; ++i) runners.push_back(runner(evolve::VariantId(i), 0.9 - 0.01 * i, 0.1));
  const auto entries = race(runners, {{}}, 1, 3);
  CHECK(who_is_in(entries) == Ids{"v0003", "v0004", "v0005"});
  CHECK(
      entries[2].reason ==
      "rank 4 of the remaining variants, but only 3 are measured again: 0.880 of the seed's time");
}

TEST_CASE("a standing is the weighted mean of the cases, with its uncertainty") {
  const std::map<std::string, Ratio> ratios = {{"one", {0.5, 0.5 / 1.1, 0.5 * 1.1}},
                                               {"other", {2, 2, 2}}};
  const Standing equal = standing_of(ratios, {{"one", 1}, {"other", 1}});
  CHECK(equal.mean == Approx(0).margin(1e-12));
  CHECK(equal.half_width == Approx(std::log(1.1) / 2));
  CHECK(standing_of(ratios, {{"one", 3}, {"other", 1}}).mean == Approx(std::log(0.5) / 2));
  CHECK(standing_of(ratios, {{"one", 1}, {"unknown", 1}}).mean == Approx(std::log(0.5) / 2));
}
