#include "engine/search/tuned.h"

#include <catch2/catch.hpp>

using namespace evolve;
using namespace evolve::search;
using nlohmann::json;

namespace {

TunedEntry entry(const std::string& device, Bucket bucket, int64_t block) {
  return {device,
          "bfloat16",
          std::move(bucket),
          {{"BLOCK_M", block}},
          "modelled",
          {{"square", 1.0, 2.0}},
          "evidence"};
}

Spec with_cases(std::vector<Case> cases) {
  Spec out;
  out.name = "k";
  out.dimensions = {"M"};
  out.cases = std::move(cases);
  return out;
}

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
  auto table = with_entries(json(), "k",
                            {entry("TPU7x", {{"M", 1024}}, 1), entry("TPU7x", {{"M", 2048}}, 2)});
  REQUIRE(table);
  table = with_entries(*table, "k",
                       {entry("TPU7x", {{"M", 2048}}, 3), entry("TPU v6 lite", {{"M", 2048}}, 4)});
  REQUIRE(table);
  CHECK((*table)["format"] == "evolve-tuned-1");
  std::vector<int64_t> blocks;
  for (const json& one : (*table)["entries"]) blocks.push_back(one["block_sizes"]["BLOCK_M"]);
  CHECK(blocks == std::vector<int64_t>{4, 1, 3});
  CHECK((*table)["entries"][2]["times"][0] ==
        json{{"case", "square"}, {"seconds", 1.0}, {"seed_seconds", 2.0}});
}

TEST_CASE("what is no table of the kernel's is refused") {
  CHECK(with_entries(json::object(), "k", {}).error().message ==
        "not of the format evolve-tuned-1");
  const json other = {{"format", "evolve-tuned-1"}, {"kernel", "l"}, {"entries", json::array()}};
  CHECK(with_entries(other, "k", {}).error().message == "it is of the kernel 'l'");
  const json none = {{"format", "evolve-tuned-1"}, {"kernel", "k"}};
  CHECK(with_entries(none, "k", {}).error().code == ErrorCode::bad_input);
}
