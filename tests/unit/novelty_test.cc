// Tests of near-duplicates: which variants of a round are rejected before any expensive step.
#include "engine/search/history/novelty.h"

#include "tests/catch.h"

using namespace evolve::search;
using evolve::VariantId;

namespace {

using Ids = std::vector<VariantId>;

// Returns a variant whose program has the features `from` to `from` + 99. Two variants whose `from`
// differ by `n` have a distance of 2 n / (100 + n).
Sketched at(VariantId id, uint64_t from) {
  Sketched out = {id, 1, {{"BLOCK", 128}}, "program " + std::to_string(from), {}};
  Sketch& sketch = out.sketches["big"];
  sketch.frame = "frame";
  for (uint64_t i = 0; i < 100; ++i) sketch.features.push_back(from + i);
  return out;
}

Ids ids(const std::vector<Sketched>& all) {
  Ids out;
  for (const Sketched& one : all) out.push_back(one.id);
  return out;
}

Ids near(const std::vector<NoveltyEntry>& entries) {
  Ids out;
  for (const NoveltyEntry& entry : entries) {
    if (entry.is_near) out.push_back(entry.id);
  }
  return out;
}

PastVariant past(VariantId id, const std::string& program, const std::string& kind) {
  PastVariant out;
  out.id = id;
  out.program = program;
  if (!kind.empty()) out.rejection = Rejection{"check", "big", kind, "", {}};
  return out;
}

}  // namespace

TEST_CASE("who is nearer than the rule to an earlier one is turned down, and not who is as far") {
  std::vector<Sketched> earlier = {at("v0000", 0)};
  const double least = distance(at("v0000", 0), at("v0000", 5));
  CHECK(least == Approx(10.0 / 105));
  const auto entries = near_duplicates(
      {at("v0001", 4), at("v0002", 1005), at("v0003", 1009), at("v0004", 5)}, least, {}, earlier);
  CHECK(near(entries) == Ids{"v0001"});
  CHECK(entries[0].nearest == VariantId("v0000"));
  CHECK(*entries[0].distance == Approx(8.0 / 104));
  CHECK_FALSE(entries[1].distance);
  CHECK(ids(earlier) == Ids{"v0000", "v0002", "v0003", "v0004"});
}

TEST_CASE("a chain of small steps goes on from where the last one counted") {
  std::vector<Sketched> earlier = {at("v0000", 0)};
  CHECK(near(near_duplicates({at("v0001", 4), at("v0002", 8)}, 10.0 / 105, {}, earlier)) ==
        Ids{"v0001"});
  const History history = {past("v0001", "program 4", kNearDuplicate),
                           past("v0002", "program 8", "")};
  const auto entries = near_duplicates({at("v0003", 12)}, 10.0 / 105, history, earlier);
  CHECK(near(entries) == Ids{"v0003"});
  CHECK(entries[0].nearest == VariantId("v0002"));
}

TEST_CASE("neighbours in one round are both judged, and only the one that passed counts later") {
  std::vector<Sketched> earlier = {at("v0000", 0)};
  // It is not known yet whether v0001 or v0002 is correct, so both are judged. v0003 has the same
  // program as v0002, so it costs nothing.
  auto entries =
      near_duplicates({at("v0001", 1000), at("v0002", 1001), at("v0003", 1001)}, 0.1, {}, earlier);
  CHECK(near(entries).empty());
  CHECK(entries[2].is_known);
  CHECK(ids(earlier) == Ids{"v0000", "v0001", "v0002"});
  const History history = {past("v0000", "program 0", ""),
                           past("v0001", "program 1000", "incorrect"),
                           past("v0002", "program 1001", "")};
  entries = near_duplicates({at("v0004", 1002)}, 0.1, history, earlier);
  CHECK(near(entries) == Ids{"v0004"});
  CHECK(entries[0].nearest == VariantId("v0002"));
  CHECK(ids(earlier) == Ids{"v0000", "v0002"});
}

TEST_CASE("a variant with a known program costs nothing, and is not a near-duplicate") {
  std::vector<Sketched> earlier = {at("v0000", 0)};
  auto entries =
      near_duplicates({at("v0001", 0), at("v0002", 4), at("v0003", 4)}, 0.1, {}, earlier);
  CHECK(entries[0].is_known);
  CHECK(near(entries) == Ids{"v0002", "v0003"});
  CHECK(ids(earlier) == Ids{"v0000"});
  // In a later round, the program of a rejected near-duplicate is not known; other programs are.
  const History history = {past("v0000", "program 0", ""),
                           past("v0002", "program 4", kNearDuplicate),
                           past("v0004", "program 3", "incorrect")};
  entries = near_duplicates({at("v0005", 4), at("v0006", 3)}, 0.1, history, earlier);
  CHECK(near(entries) == Ids{"v0005"});
  CHECK(entries[1].is_known);
}

TEST_CASE("a small change may repair a rejected variant") {
  std::vector<Sketched> earlier = {at("v0000", 0), at("v0001", 1000)};
  const History history = {past("v0000", "program 0", ""),
                           past("v0001", "program 1000", "incorrect")};
  CHECK(near(near_duplicates({at("v0002", 1001), at("v0003", 1)}, 0.1, history, earlier)) ==
        Ids{"v0003"});
  CHECK(ids(earlier) == Ids{"v0000", "v0002"});
}

TEST_CASE("the distance is that of the case in which they differ most, and points are far apart") {
  Sketched one = at("v0001", 0), other = at("v0002", 1);
  CHECK(distance(one, other) == Approx(2.0 / 101));
  one.sketches["small"] = at("v0000", 0).sketches["big"];
  CHECK(distance(one, other) == 1);
  other.sketches["small"] = at("v0000", 50).sketches["big"];
  CHECK(distance(one, other) == Approx(100.0 / 150));
  CHECK(distance(one, one) == 0);
  other = one;
  other.parameters["BLOCK"] = 256;
  CHECK(distance(one, other) == 1);
}

TEST_CASE("sketches are read as they were written, and other lines are refused with their number") {
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
