// Tests of the comparison of a model with measured times.
#include "engine/ir/model/validation.h"

#include "tests/catch.h"

using namespace evolve;
using namespace evolve::ir;

namespace {

// Returns a row whose time the model gives as `modelled`; nullopt: the model cannot follow the
// program.
Observation row(double measured, std::optional<double> modelled, const std::string& group = "g",
                const std::string& family = "f") {
  Observation out;
  out.seconds = measured;
  out.group = group;
  out.family = family;
  out.cycles = [modelled](const Device& device) -> Result<double> {
    if (!modelled) return failed("k.1:3: the model cannot follow: it");
    return *modelled * device.clock_hz;
  };
  return out;
}

Validation found(const std::vector<Observation>& rows) {
  auto out = validate(*find_device("tpu7x"), rows);
  REQUIRE(out);
  return *out;
}

}  // namespace

TEST_CASE("a common scale is not an error") {
  const Validation one = found({row(1, 2), row(2, 4), row(3, 6), row(4, 10)});
  CHECK(one.scale == Approx(0.5));
  CHECK(one.error == Approx(0.25 / 4));
  CHECK(one.rank_correlation == Approx(1));
}

TEST_CASE("pairs are counted by how much they differ, in a group and altogether") {
  // The model reverses one of the pairs that differ by 5 %.
  const Validation one =
      found({row(1, 1, "a"), row(1.05, 0.99, "a"), row(1.05, 1.05, "b"), row(2, 2, "b")});
  const auto at = [](const std::vector<OrderedPairs>& intervals, double difference) {
    for (const OrderedPairs& each : intervals) {
      if (difference >= each.least && difference < each.most) return each;
    }
    return OrderedPairs();
  };
  CHECK(at(one.of_groups, 0.05).pairs == 1);
  CHECK(at(one.of_groups, 0.05).right == 0);
  CHECK(at(one.of_groups, 0.9).right == 1);
  CHECK(at(one.of_all, 0.05).pairs == 2);
  CHECK(at(one.of_all, 0.05).right == 1);
  CHECK(at(one.of_all, 1.5).pairs == 3);
}

TEST_CASE("a program that is not modelled is named, and counts nowhere else") {
  const Validation one = found({row(1, 1), row(2, std::nullopt), row(3, 3)});
  CHECK(one.not_modelled == std::vector<std::string>{"k.1:3: the model cannot follow: it"});
  CHECK(one.error == Approx(0));
  CHECK_FALSE(one.modelled[1]);
  auto none = validate(*find_device("tpu7x"), std::vector{row(1, std::nullopt)});
  REQUIRE_FALSE(none);
  CHECK(none.error().message == "no measured time is modelled");
  CHECK_FALSE(validate(*find_device("tpu7x"), std::vector{row(0, 1)}));
}

TEST_CASE("the worst family comes first") {
  const Validation one = found({row(1, 1, "a", "x"), row(1, 1, "b", "x"), row(1, 1.2, "c", "y")});
  REQUIRE(one.families.size() == 2);
  CHECK(one.families[0].name == "y");
  CHECK(one.families[0].error == Approx(0.2));
  CHECK(one.families[1].rows == 2);
}
