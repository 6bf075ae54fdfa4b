#include "engine/core/text/did_you_mean.h"

#include <vector>

#include "tests/catch.h"

using evolve::nearest;
using evolve::suggestion;

namespace {

const std::vector<std::string> known_names = {"tolerance", "cases", "case", "K", "inputs"};

}  // namespace

TEST_CASE("a typing mistake finds its name") {
  CHECK(nearest("tolerence", known_names) == "tolerance");
  CHECK(nearest("toleranec", known_names) == "tolerance");
  CHECK(nearest("inptus", known_names) == "inputs");
  CHECK(nearest("TOLERANCE", known_names) == "tolerance");
}

TEST_CASE("swapped neighbours count as one edit") {
  std::vector<std::string> names = {"ab"};
  CHECK(nearest("ba", names) == "ab");
}

TEST_CASE("a name that is too far away is not suggested") {
  CHECK(nearest("xyz", known_names) == std::nullopt);
  CHECK(nearest("", known_names) == std::nullopt);
  CHECK(nearest("weights", known_names) == std::nullopt);
  CHECK(nearest(std::string(5000, 'c'), known_names) == std::nullopt);
}

TEST_CASE("short names allow one edit only") {
  std::vector<std::string> names = {"M", "abc"};
  CHECK(nearest("N", names) == std::nullopt);
  CHECK(nearest("m", names) == "M");
  CHECK(nearest("abd", names) == "abc");
  CHECK(nearest("axy", names) == std::nullopt);
}

TEST_CASE("the nearer one wins, and of equals the first") {
  CHECK(nearest("casse", known_names) == "cases");
  CHECK(nearest("cas", known_names) == "case");
  std::vector<std::string> names = {"block_n", "block_m"};
  CHECK(nearest("block_k", names) == "block_n");
}

TEST_CASE("a suggestion names the nearest one or lists a few") {
  CHECK(suggestion("tolerence", known_names) == ", did you mean 'tolerance'?");
  CHECK(suggestion("weights", known_names) == "; known: tolerance, cases, case, K, inputs");
  CHECK(suggestion("weights", {}).empty());
  std::vector<std::string> many(20, "something");
  CHECK(suggestion("weights", many) ==
        "; known: something, something, something, something, something, something, something, "
        "something and "
        "12 more");
}
