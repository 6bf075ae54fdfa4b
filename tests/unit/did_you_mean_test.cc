#include "engine/core/did_you_mean.h"

#include <catch2/catch.hpp>
#include <vector>

using evolve::nearest;
using evolve::suggestion;

namespace {

const std::vector<std::string> kNames = {"tolerance", "cases", "case", "K", "inputs"};

}  // namespace

TEST_CASE("a typing mistake finds its name") {
  CHECK(nearest("tolerence", kNames) == "tolerance");
  CHECK(nearest("toleranec", kNames) == "tolerance");
  CHECK(nearest("inptus", kNames) == "inputs");
  CHECK(nearest("TOLERANCE", kNames) == "tolerance");
}

TEST_CASE("swapped neighbours count as one edit") {
  std::vector<std::string> names = {"ab"};
  CHECK(nearest("ba", names) == "ab");
}

TEST_CASE("what is too far is no suggestion") {
  CHECK(nearest("xyz", kNames) == std::nullopt);
  CHECK(nearest("", kNames) == std::nullopt);
  CHECK(nearest("weights", kNames) == std::nullopt);
  CHECK(nearest(std::string(5000, 'c'), kNames) == std::nullopt);
}

TEST_CASE("short names allow one edit only") {
  std::vector<std::string> names = {"M", "abc"};
  CHECK(nearest("N", names) == std::nullopt);
  CHECK(nearest("m", names) == "M");
  CHECK(nearest("abd", names) == "abc");
  CHECK(nearest("axy", names) == std::nullopt);
}

TEST_CASE("the nearer one wins, and of equals the first") {
  CHECK(nearest("casse", kNames) == "cases");
  CHECK(nearest("cas", kNames) == "case");
  std::vector<std::string> names = {"block_n", "block_m"};
  CHECK(nearest("block_k", names) == "block_n");
}

TEST_CASE("a suggestion names the nearest one or lists a few") {
  CHECK(suggestion("tolerence", kNames) == ", did you mean 'tolerance'?");
  CHECK(suggestion("weights", kNames) == "; known: tolerance, cases, case, K, inputs");
  CHECK(suggestion("weights", {}).empty());
  std::vector<std::string> many(20, "something");
  CHECK(suggestion("weights", many) ==
        "; known: something, something, something, something, something, something, something, something and "
        "12 more");
}
