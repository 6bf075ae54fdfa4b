// Tests of near-duplicates: which variants of a round are rejected before anything is paid for
// them.
#include "engine/search/history/novelty.h"

#include <catch2/catch.hpp>

using namespace evolve::search;

namespace {

// A variant whose program has the features `from` to `from` + 99. Two variants whose `from` differ
// by `n` have a distance of 2 n / (100 + n).
Sketched at(const std::string& id, uint64_t from) {
  Sketched out = {id, 1, {{"BLOCK", 128}}, "program " + std::to_string(from), {}};
  Sketch& sketch = out.sketches["big"];
  sketch.frame = "frame";
  for (uint64_t i = 0; i < 100; ++i) sketch.features.push_back(from + i);
  return out;
}

std::vector<std::string> ids(const std::vector<Sketched>& all) {
  std::vector<std::string> out;
  for (const Sketched& one : all) out.push_back(one.id);
  return out;
}

std::vector<std::string> near(const std::vector<NoveltyEntry>& entries) {
  std::vector<std::string> out;
  for (const NoveltyEntry& entry : entries) {
    if (entry.is_near) out.push_back(entry.id);
  }
  return out;
}

PastVariant past(const std::string& id, const std::string& program, const std::string& kind) {
  PastVariant out;
  out.id = id;
  out.program = program;
  if (!kind.empty()) out.rejection = Rejection{"check", "big", kind, "", {}};
  return out;
}

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("who is nearer than the rule to an earlier one is turned down, and not who is as far") {
  std::vector<Sketched> earlier = {at("v0", 0)};
  const double least = distance(at("", 0), at("", 5));
  CHECK(least == Approx(10.0 / 105));
  const auto entries = near_duplicates({at("v1", 4), at("v2", 1005), at("v3", 1009), at("v4", 5)},
                                       least, {}, earlier);
  CHECK(near(entries) == Ids{"v1"});
  CHECK(entries[0].nearest == "v0");
  CHECK(*entries[0].distance == Approx(8.0 / 104));
  CHECK_FALSE(entries[1].distance);
  CHECK(ids(earlier) == Ids{"v0", "v2", "v3", "v4"});
}

TEST_CASE("a chain of small steps goes on from where the last one counted") {
  std::vector<Sketched> earlier = {at("v0", 0)};
  CHECK(near(near_duplicates({at("v1", 4), at("v2", 8)}, 10.0 / 105, {}, earlier)) == Ids{"v1"});
  const History history = {past("v1", "program 4", kNearDuplicate), past("v2", "program 8", "")};
  const auto entries = near_duplicates({at("v3", 12)}, 10.0 / 105, history, earlier);
  CHECK(near(entries) == Ids{"v3"});
  CHECK(entries[0].nearest == "v2");
}

TEST_CASE("neighbours in one round are both judged, and only the one that passed counts later") {
  std::vector<Sketched> earlier = {at("v0", 0)};
  // Nobody knows yet which of the two is right. The same program costs nothing.
  auto entries =
      near_duplicates({at("v1", 1000), at("v2", 1001), at("v3", 1001)}, 0.1, {}, earlier);
  CHECK(near(entries).empty());
  CHECK(entries[2].is_known);
  CHECK(ids(earlier) == Ids{"v0", "v1", "v2"});
  const History history = {past("v0", "program 0", ""), past("v1", "program 1000", "incorrect"),
                           past("v2", "program 1001", "")};
  entries = near_duplicates({at("v4", 1002)}, 0.1, history, earlier);
  CHECK(near(entries) == Ids{"v4"});
  CHECK(entries[0].nearest == "v2");
  CHECK(ids(earlier) == Ids{"v0", "v2"});
}

TEST_CASE("what is known as a whole costs nothing, and is no near-duplicate") {
  std::vector<Sketched> earlier = {at("v0", 0)};
  auto entries = near_duplicates({at("v1", 0), at("v2", 4), at("v3", 4)}, 0.1, {}, earlier);
  CHECK(entries[0].is_known);
  CHECK(near(entries) == Ids{"v2", "v3"});
  CHECK(ids(earlier) == Ids{"v0"});
  // In a later round, a variant that was rejected as near is not known; the others are.
  const History history = {past("v0", "program 0", ""), past("v2", "program 4", kNearDuplicate),
                           past("v4", "program 3", "incorrect")};
  entries = near_duplicates({at("v5", 4), at("v6", 3)}, 0.1, history, earlier);
  CHECK(near(entries) == Ids{"v5"});
  CHECK(entries[1].is_known);
}

TEST_CASE("a small change may mend what was turned down") {
  std::vector<Sketched> earlier = {at("v0", 0), at("v1", 1000)};
  const History history = {past("v0", "program 0", ""), past("v1", "program 1000", "incorrect")};
  CHECK(near(near_duplicates({at("v2", 1001), at("v3", 1)}, 0.1, history, earlier)) == Ids{"v3"});
  CHECK(ids(earlier) == Ids{"v0", "v2"});
}

TEST_CASE("the distance is that of the case in which they differ most, and points are far apart") {
  Sketched one = at("v1", 0), other = at("v2", 1);
  CHECK(distance(one, other) == Approx(2.0 / 101));
  one.sketches["small"] = at("", 0).sketches["big"];
  CHECK(distance(one, other) == 1);
  other.sketches["small"] = at("", 50).sketches["big"];
  CHECK(distance(one, other) == Approx(100.0 / 150));
  CHECK(distance(one, one) == 0);
  other = one;
  other.parameters["BLOCK"] = 256;
  CHECK(distance(one, other) == 1);
}

TEST_CASE("sketches are read as they were written, and what are none are told with their line") {
  const std::vector<Sketched> all = {at("v0001", 0), at("v0002", 50)};
  const std::string lines = sketch_lines(all);
  auto read = read_sketches(lines);
  REQUIRE(read);
  CHECK(sketch_lines(*read) == lines);
  CHECK(distance((*read)[1], all[1]) == 0);
  auto bad = read_sketches(lines + "{}\n");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().message.find("line 3") != std::string::npos);
}
