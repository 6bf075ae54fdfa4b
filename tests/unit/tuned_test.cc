#include "engine/campaign/tuned.h"

#include "tests/catch.h"

using namespace evolve;
using namespace evolve::search;
using nlohmann::json;

namespace {

TunedEntry entry(const std::string& device, Bucket bucket, int64_t block, double seconds = 1) {
  TunedEntry out;
  out.device = device;
  out.dtype = "bfloat16";
  out.dtypes = {{"x", "bfloat16"}, {"w", "float32"}};
  out.bucket = std::move(bucket);
  out.block_sizes = {{"BLOCK_M", block}};
  out.kind = "modelled";
  out.times = {{"square", seconds, 2.0}};
  out.evidence = "evidence";
  return out;
}

Spec with_cases(std::vector<Case> cases) {
  Spec out;
  out.name = "k";
  out.dimensions = {"M"};
  out.cases = std::move(cases);
  return out;
}

// Returns a spec whose BLOCK_M may be 1 to 4.
Spec plain_spec() {
  Spec out = with_cases({});
  out.parameters = {{"BLOCK_M", {1, 2, 3, 4, 5}}};
  out.constraints = {"BLOCK_M < 5"};
  return out;
}
const Spec kSpec = plain_spec();

}  // namespace

TEST_CASE("a bucket has each size rounded up to a power of two") {
  CHECK(bucket_of({{"M", 1}, {"N", 8192}, {"K", 8193}}) ==
        Bucket{{"M", 1}, {"N", 8192}, {"K", 16384}});
}

TEST_CASE("bench cases of one bucket are tuned together") {
  const auto buckets = buckets_of(with_cases({{"a", {{"M", 1000}}, {"bench"}},
                                              {"b", {{"M", 100}}, {"check"}},
                                              {"c", {{"M", 4096}}, {"bench"}},
                                              {"d", {{"M", 1024}}, {"bench", "check"}}}));
  REQUIRE(buckets.size() == 2);
  CHECK(buckets[0].bucket == Bucket{{"M", 1024}});
  CHECK(buckets[0].cases == std::vector<std::string>{"a", "d"});
  CHECK(buckets[1].cases == std::vector<std::string>{"c"});
}

TEST_CASE("an entry takes the place of that of its device, dtype and bucket, and of no other") {
  auto first = with_entries(json(), "k", kSpec,
                            {entry("TPU7x", {{"M", 1024}}, 1), entry("TPU7x", {{"M", 2048}}, 2)});
  REQUIRE(first);
  auto second =
      with_entries(first->table, "k", kSpec,
                   {entry("TPU7x", {{"M", 2048}}, 3, 0.9), entry("TPU v6 lite", {{"M", 2048}}, 4)});
  REQUIRE(second);
  CHECK(second->kept.empty());
  const json& table = second->table;
  CHECK(table["format"] == "evolve-tuned-1");
  std::vector<int64_t> blocks;
  for (const json& one : table["entries"]) blocks.push_back(one["block_sizes"]["BLOCK_M"]);
  CHECK(blocks == std::vector<int64_t>{4, 1, 3});
  CHECK(table["entries"][2]["times"][0] ==
        json{{"case", "square"}, {"seconds", 0.9}, {"seed_seconds", 2.0}});
  CHECK(table["entries"][2]["dtypes"] == json{{"x", "bfloat16"}, {"w", "float32"}});
}

TEST_CASE("an entry that is faster stays, where it was found under the same conditions") {
  auto table = with_entries(json(), "k", kSpec, {entry("TPU7x", {{"M", 1024}}, 1, 1.0)});
  REQUIRE(table);
  TunedEntry slower = entry("TPU7x", {{"M", 1024}}, 2, 1.5);
  SECTION("the same") {
    auto after = with_entries(table->table, "k", kSpec, {slower});
    REQUIRE(after);
    CHECK(after->table == table->table);
    CHECK(after->kept.size() == 1);
  }
  SECTION("another kind of time") {
    slower.kind = "measured";
  }
  SECTION("a seed that takes another time") {
    slower.times[0].seed_seconds = 3;
  }
  SECTION("other cases") {
    slower.times[0].case_name = "other";
  }
  if (slower.kind == "measured" || slower.times[0].seed_seconds > 2 ||
      slower.times[0].case_name == "other") {
    auto after = with_entries(table->table, "k", kSpec, {slower});
    REQUIRE(after);
    CHECK(after->kept.empty());
    CHECK(after->table["entries"][0]["block_sizes"]["BLOCK_M"] == 2);
  }
}

TEST_CASE(
    "block sizes that the spec does not allow are removed, and the table says what it allows") {
  auto table = with_entries(json(), "k", kSpec,
                            {entry("TPU7x", {{"M", 1}}, 4), entry("TPU7x", {{"M", 2}}, 5),
                             entry("TPU7x", {{"M", 4}}, 6)});
  REQUIRE(table);
  CHECK(table->table["entries"].size() == 1);
  CHECK(table->taken_out.size() == 2);
  CHECK(table->table["parameters"]["BLOCK_M"] == json{1, 2, 3, 4, 5});
  CHECK(table->table["constraints"] == json{"BLOCK_M < 5"});
}

TEST_CASE("a file that is not a table of the kernel is refused") {
  CHECK(with_entries(json::object(), "k", kSpec, {}).error().message ==
        "the format is not evolve-tuned-1");
  const json other = {{"format", "evolve-tuned-1"}, {"kernel", "l"}, {"entries", json::array()}};
  CHECK(with_entries(other, "k", kSpec, {}).error().message ==
        "the table belongs to the kernel 'l'");
  const json none = {{"format", "evolve-tuned-1"}, {"kernel", "k"}};
  CHECK(with_entries(none, "k", kSpec, {}).error().code == ErrorCode::bad_input);
}
