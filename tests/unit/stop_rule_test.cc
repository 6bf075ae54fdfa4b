#include "engine/search/stop_rule.h"

#include <vector>

#include "tests/catch.h"

using namespace evolve;
using namespace evolve::search;

namespace {

std::string reason(const std::string& rule, const Standpoint& at) {
  auto parsed = StopRule::parse(rule);
  if (!parsed) return parsed.error().message;
  return parsed->reason(at).value_or("goes on");
}

std::string error(const std::string& rule) {
  auto parsed = StopRule::parse(rule);
  if (parsed) return "no error";
  CHECK(parsed.error().code == ErrorCode::bad_input);
  return parsed.error().message;
}

}  // namespace

TEST_CASE("a rule stops when one of its conditions holds, and says which") {
  const std::string rule = "speedup>=1.3 or stagnant 3 or cost>=5usd";
  Standpoint at;
  CHECK(reason(rule, at) == "goes on");
  at.speedup = 1.29;
  at.stagnant = 2;
  CHECK(reason(rule, at) == "goes on");
  at.stagnant = 3;
  CHECK(reason(rule, at) == "stagnant 3 >= 3");
  at.speedup = 1.3;
  CHECK(reason(rule, at) == "speedup 1.3 >= 1.3");
}

TEST_CASE("'and' binds closer than 'or'") {
  const std::string rule = "rounds 2 and speedup 1.5x or tokens 1e6";
  Standpoint at;
  at.rounds = 2;
  CHECK(reason(rule, at) == "goes on");
  at.speedup = 2;
  CHECK(reason(rule, at) == "rounds 2 >= 2 and speedup 2 >= 1.5");
  at = {};
  at.tokens = 1000000;
  CHECK(reason(rule, at) == "tokens 1e+06 >= 1e+06");
}

TEST_CASE("times have units, and an unknown value stops nothing") {
  Standpoint at;
  at.wall_seconds = 3600;
  at.device_seconds = 119;
  CHECK(reason("wall 1h", at) == "wall 3600 >= 3600");
  CHECK(reason("wall>=60 min", at) == "wall 3600 >= 3600");
  CHECK(reason("wall 3600", at) == "wall 3600 >= 3600");
  CHECK(reason("device 2min", at) == "goes on");
  CHECK(reason("roofline 0.5", at) == "goes on");
  at.roofline = 0.5;
  CHECK(reason("roofline 0.5", at) == "roofline 0.5 >= 0.5");
}

TEST_CASE("a text that is not a rule is refused with its column") {
  CHECK(error("") == "'': column 1: expected a condition");
  CHECK(error("speedup>=1.3 or") == "'speedup>=1.3 or': column 16: expected a condition");
  CHECK(error("sped 2") == "'sped 2': column 1: unknown quantity 'sped', did you mean 'speedup'?");
  CHECK(error("cost>=5eur") == "'cost>=5eur': column 8: cost has the unit usd, not 'eur'");
  CHECK(error("stagnant") == "'stagnant': column 9: stagnant: expected a number above 0");
  CHECK(error("stagnant -1") == "'stagnant -1': column 10: stagnant: expected a number above 0");
  CHECK(error("cost>=nan") == "'cost>=nan': column 7: cost: expected a number above 0");
  CHECK(error("speedup inf") == "'speedup inf': column 9: speedup: expected a number above 0");
  CHECK(error("rounds 3 wall 2h") ==
        "'rounds 3 wall 2h': column 10: expected 'and' or 'or', got 'wall'");
  CHECK(error("rounds 3 & wall 2h") == "'rounds 3 & wall 2h': column 10: expected 'and' or 'or'");
  CHECK(error("rounds < 3") == "'rounds < 3': column 8: rounds: expected a number above 0");
}

TEST_CASE("a campaign is stagnant while its best is ahead by no more than a tie") {
  auto stagnant = [](const std::vector<double>& scores) { return stagnant_rounds(scores, 0.03); };
  CHECK(stagnant({}) == 0);
  CHECK(stagnant({1.2}) == 0);
  CHECK(stagnant({1.2, 1.22, 1.23}) == 2);
  // Small steps add up to a large one.
  CHECK(stagnant({1.2, 1.22, 1.24}) == 0);
  CHECK(stagnant({0, 0}) == 2);
  CHECK(stagnant({1.5, 1.2, 1.3}) == 2);
}
