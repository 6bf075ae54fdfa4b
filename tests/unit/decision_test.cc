// Tests of the decision on measured times: what it finds, and how often it is wrong.
#include "engine/search/selection/decision.h"

#include <cmath>
#include <numbers>

#include "engine/search/space/random.h"
#include "tests/catch.h"

using namespace evolve;
using namespace evolve::search;

namespace {

// Draws normally distributed numbers with the Box-Muller transform.
class Noise {
 public:
  explicit Noise(uint64_t seed) : random_(seed) {}
  double draw(double deviation) {
    const double u = uniform(), v = uniform();
    return deviation * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  }

 private:
  double uniform() { return (static_cast<double>(random_.next() >> 11) + 0.5) * 0x1p-53; }
  Random random_;
};

struct Machine {
  size_t runs = 12, blocks = 20;
  double between = 0.002;  // standard deviation of a run's logarithm
  double within = 0.01;    // standard deviation of a call's logarithm
  double drift = 0;        // change of the logarithm from call to call
};

Samples measured(const Machine& machine, double ratio, Noise& noise) {
  Samples out = {"cpu: a", "abba-1", {}};
  for (size_t i = 0; i < machine.runs; ++i) {
    const double luck = noise.draw(machine.between);
    std::vector<Block> blocks;
    double at = 0;
    auto call = [&](double its) {
      return 1e-3 * its * std::exp(noise.draw(machine.within) + machine.drift * at++);
    };
    for (size_t j = 0; j < machine.blocks; ++j) {
      Block block;
      block.anchor[0] = call(1);
      block.candidate[0] = call(ratio * std::exp(luck));
      block.candidate[1] = call(ratio * std::exp(luck));
      block.anchor[1] = call(1);
      blocks.push_back(block);
    }
    out.runs.push_back(blocks);
  }
  return out;
}

// Counts how often the decision is `comparison`, in 1,000 comparisons.
int count(Comparison comparison, const Machine& machine, double ratio) {
  Noise noise(42);
  int out = 0;
  for (int i = 0; i < 1000; ++i) {
    out += decide(measured(machine, ratio, noise), {}).comparison == comparison ? 1 : 0;
  }
  return out;
}

}  // namespace

TEST_CASE("a program compared with itself is a tie, at least 95 times of 100") {
  CHECK(count(Comparison::tie, {}, 1) >= 950);
  // Processes that differ by more than calls do are not a finding, either.
  Machine lucky;
  lucky.between = 0.01;
  CHECK(count(Comparison::faster, lucky, 1) + count(Comparison::slower, lucky, 1) <= 50);
}

TEST_CASE("a difference of 3 % is found") {
  CHECK(count(Comparison::slower, {}, 1.03) >= 900);
  CHECK(count(Comparison::faster, {}, 1 / 1.03) >= 900);
}

TEST_CASE("a difference below the least effect is a tie") {
  CHECK(count(Comparison::tie, {}, 1.003) >= 950);
}

TEST_CASE("an even drift is no difference") {
  Machine warming;
  warming.drift = -0.002;
  CHECK(count(Comparison::tie, warming, 1) >= 950);
}

TEST_CASE("the interval covers the truth 95 times of 100") {
  Noise noise(7);
  int covered = 0;
  for (int i = 0; i < 2000; ++i) {
    const Decision one = decide(measured({}, 1.02, noise), {});
    covered += one.ratio.low <= 1.02 && 1.02 <= one.ratio.high ? 1 : 0;
  }
  CHECK(covered >= 1880);
  CHECK(covered <= 1960);
}

TEST_CASE("noise is not a tie") {
  Machine noisy;
  noisy.between = 0.15;
  CHECK(count(Comparison::unstable, noisy, 1) >= 900);
}

TEST_CASE("impossible samples are refused") {
  Noise noise(1);
  Samples samples = measured({}, 1, noise);
  DecisionRule rule;
  SECTION("below the roofline") {
    rule.floor_seconds = 0.01;
  }
  SECTION("nothing") {
    samples.runs[1][2].candidate[0] = 0;
  }
  SECTION("no number") {
    samples.runs[1][2].anchor[0] = std::nan("");
  }
  SECTION("too few runs") {
    samples.runs.resize(4);
  }
  SECTION("an empty run") {
    samples.runs[2].clear();
  }
  const Decision decision = decide(samples, rule);
  CHECK(decision.comparison == Comparison::not_comparable);
  CHECK(!decision.reason.empty());
}

TEST_CASE("two measurements of the same agree, and one of something else does not") {
  Noise noise(3);
  const Samples earlier = measured({}, 0.8, noise);
  CHECK(compare(earlier, measured({}, 0.8, noise), {}).comparison == Comparison::tie);
  CHECK(compare(earlier, measured({}, 0.84, noise), {}).comparison == Comparison::slower);
  CHECK(compare(earlier, measured({}, 0.76, noise), {}).comparison == Comparison::faster);
  Samples elsewhere = earlier;
  elsewhere.device = "cpu: b";
  CHECK(compare(earlier, elsewhere, {}).comparison == Comparison::not_comparable);
  CHECK(compare(earlier, elsewhere, {}).reason ==
        "measured on 'cpu: a' before, and on 'cpu: b' now");
}

TEST_CASE("samples are read as they were written, or not at all") {
  nlohmann::json record = {{"format", "evolve-samples-2"},
                           {"device", "cpu: a"},
                           {"protocol", "abba-1"},
                           {"runs", {{{"anchor", {{1.0, 2.0}}}, {"candidate", {{3.0, 4.0}}}}}}};
  auto samples = read_samples(record, "samples.json");
  REQUIRE(samples);
  CHECK(samples->device == "cpu: a");
  REQUIRE(samples->runs.size() == 1);
  CHECK(samples->runs[0][0].candidate[1] == 4.0);
  SECTION("another format") {
    record["format"] = "evolve-samples-1";
  }
  SECTION("no device") {
    record.erase("device");
  }
  SECTION("a block of one") {
    record["runs"][0]["anchor"][0] = {1.0};
  }
  SECTION("a word for a time") {
    record["runs"][0]["anchor"][0] = {1.0, "x"};
  }
  SECTION("a block of one program alone") {
    record["runs"][0]["anchor"].push_back({1.0, 2.0});
  }
  SECTION("a run that is none") {
    record["runs"][0] = 3;
  }
  CHECK(!read_samples(record, "samples.json"));
}
