// Tests of the first cut: which variants are not measured because of their modelled times.
#include "engine/search/selection/cut.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/catch.h"

using namespace evolve::search;

namespace {

using Ids = std::vector<evolve::VariantId>;

// Returns a variant for each ratio, from v0001 on. A ratio is the variant's modelled time over the
// seed's.
std::vector<Contender> modelled(const std::vector<double>& ratios) {
  std::vector<Contender> out;
  out.reserve(ratios.size());
  for (double ratio : ratios)
    out.push_back({evolve::VariantId(static_cast<int>(out.size()) + 1), {std::log(ratio)}});
  return out;
}

Ids ruled_out(const std::vector<Admission>& entries) {
  Ids out;
  for (const Admission& entry : entries) {
    if (!entry.reason.empty()) out.push_back(entry.id);
  }
  return out;
}

const double fifth = std::log1p(0.2);

}  // namespace

TEST_CASE("a variant is ruled out if it is modelled slower than the best by more than the margin") {
  const auto entries = cut(modelled({0.5, 0.599, 0.601, 0.9}), {{}}, 1, fifth, 0);
  CHECK(ruled_out(entries) == Ids{"v0003", "v0004"});
  CHECK(entries[2].reason ==
        "modelled 0.601 of the seed's time, more than 20 % slower than the best");
  CHECK(entries[0].is_in);
  CHECK(entries[1].is_in);
}

TEST_CASE("as many set the pace as survive, those of the rounds before among them") {
  const auto variants = modelled({0.5, 0.7, 0.8, 0.9});
  CHECK(ruled_out(cut(variants, {{}}, 2, fifth, 0)) == Ids{"v0004"});
  CHECK(ruled_out(cut(variants, {{"v0009", {std::log(0.4)}}}, 2, fifth, 0)) ==
        Ids{"v0002", "v0003", "v0004"});
  // There are fewer variants than may survive, so none is ruled out.
  CHECK(ruled_out(cut(variants, {{}}, 6, fifth, 0)).empty());
  CHECK(ruled_out(cut(variants, {}, 5, fifth, 0)).empty());
  CHECK(cut({}, {{}}, 1, fifth, 0).empty());
}

TEST_CASE("one of the variants that are ruled out is measured all the same, by a repeatable draw") {
  const auto variants = modelled({0.5, 0.9, 0.9, 0.9});
  std::set<evolve::VariantId> drawn;
  for (uint64_t draw = 0; draw < 50; ++draw) {
    const auto entries = cut(variants, {{}}, 1, fifth, draw),
               again = cut(variants, {{}}, 1, fifth, draw);
    size_t count = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
      CHECK(entries[i].is_spot_check == again[i].is_spot_check);
      if (!entries[i].is_spot_check) continue;
      ++count;
      CHECK(entries[i].is_in);
      CHECK_FALSE(entries[i].reason.empty());
      drawn.insert(entries[i].id);
    }
    CHECK(count == 1);
  }
  CHECK(drawn == std::set<evolve::VariantId>{"v0002", "v0003", "v0004"});
}

TEST_CASE("a model that was seen to err rules out less") {
  CHECK(cut_width(0.2, {}) == Approx(fifth));
  CHECK(cut_width(0.2, {100, 3.0, 0.04, 0, 0, 0}) == Approx(fifth));
  CHECK(cut_width(0.2, {3, 0, 0.3, 0, 0, 0}) == Approx(2 * std::sqrt(2) * 0.3));
  // Two variants are too few for an estimate.
  CHECK(cut_width(0.2, {2, 0, 0.3, 0, 0, 0}) == Approx(fifth));
}

TEST_CASE("a modelled ratio is of all cases, or there is none") {
  const std::vector<BenchCase> cases = {{"a", 3}, {"b", 1}};
  CHECK(*modelled_ratio({{"a", 2}, {"b", 1}}, {{"a", 1}, {"b", 16}}, cases) ==
        Approx((3 * std::log(2) - std::log(16)) / 4));
  CHECK_FALSE(modelled_ratio({{"a", 2}}, {{"a", 1}, {"b", 1}}, cases));
  CHECK_FALSE(modelled_ratio({{"a", 2}, {"b", 1}}, {{"a", 1}}, cases));
  CHECK_FALSE(modelled_ratio({}, {}, {}));
}
