// Tests of garbage collection: which blobs it removes.
#include "cache/housekeeping.h"

#include "tests/catch.h"

using namespace evolve::cache;

namespace {

constexpr double kDay = 24 * 3600;

// Returns a blob; by default it has 100 bytes, is a day old, and was made in a second.
Weighed blob(int64_t bytes = 100, double age = kDay, double cost = 1) {
  Weighed out;
  out.bytes = bytes;
  out.age_seconds = age;
  out.cost_seconds = cost;
  return out;
}

GcLimits size(double bytes) {
  return {bytes, std::nullopt};
}

}  // namespace

TEST_CASE("nothing goes while the limits hold") {
  const std::vector<Weighed> blobs = {blob(), blob()};
  CHECK(what_goes(blobs, size(200)).empty());
  CHECK(what_goes(blobs, {std::nullopt, kDay}).empty());
  CHECK(what_goes(blobs, {}).empty());
  CHECK(what_goes({}, size(0)).empty());
}

TEST_CASE("blobs that are too old go first, then only as many as necessary") {
  const std::vector<Weighed> blobs = {blob(), blob(100, 3 * kDay), blob(), blob()};
  CHECK(what_goes(blobs, {std::nullopt, 2 * kDay}) == std::vector<size_t>{1});
  CHECK(what_goes(blobs, {250, 2 * kDay}) == std::vector<size_t>{1, 0});
  CHECK(what_goes(blobs, size(399)) == std::vector<size_t>{1});
}

TEST_CASE("the blobs that are worth least for their bytes and their age go first") {
  CHECK(what_goes(std::vector{blob(100, kDay, 5), blob(100, kDay, 1)}, size(100)) ==
        std::vector<size_t>{1});
  CHECK(what_goes(std::vector{blob(100), blob(1000, kDay, 1)}, size(100)) ==
        std::vector<size_t>{1});
  CHECK(what_goes(std::vector{blob(100, 9 * kDay), blob(100, kDay)}, size(100)) ==
        std::vector<size_t>{0});
  // A costly blob outlives a cheap blob of the same size that is a day younger.
  CHECK(what_goes(std::vector{blob(100, 2 * kDay, 60), blob(100, kDay, 1)}, size(100)) ==
        std::vector<size_t>{1});
}

TEST_CASE("a blob that a record pins, or that a build may use, stays whatever the limits are") {
  std::vector<Weighed> blobs = {blob(100, 100 * kDay), blob(100, 1)};
  blobs[0].is_pinned = true;
  CHECK(what_goes(blobs, {0, 0}).empty());
  blobs[1].age_seconds = kInUseSeconds;
  CHECK(what_goes(blobs, {0, std::nullopt}) == std::vector<size_t>{1});
}
