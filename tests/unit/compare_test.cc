// Tests of the comparison of two programs: all parts add up to the whole.
#include "engine/ir/compare.h"

#include <map>
#include <nlohmann/json.hpp>

#include "engine/ir/facts_json.h"
#include "tests/catch.h"

using namespace evolve;
using namespace evolve::ir;

namespace {

using Opcodes = std::map<std::string, uint64_t>;

SectionFacts section(uint64_t bundle, double seconds, const Opcodes& opcodes) {
  SectionFacts out;
  out.bundle = bundle;
  out.bundles = 10;
  out.line = static_cast<uint32_t>(bundle);
  out.times = 1;
  out.opcodes = opcodes;
  out.seconds = seconds;
  return out;
}

// Returns the facts of a program of one module, which runs twice.
Facts facts(const std::string& name, double seconds, const std::vector<SectionFacts>& sections) {
  Facts out;
  out.target = "tpu7x";
  out.seconds = 2 * seconds;
  out.by_cause = {{.cause = "mxu", .what = "m", .seconds = 2 * seconds, .share = 1}};
  KernelFacts& kernel = out.kernels.emplace_back();
  kernel.name = name;
  kernel.times = 2;
  kernel.seconds = seconds;
  kernel.sections = sections;
  return out;
}

Opcodes matmul() {
  return {{"vmatmul", 100}, {"vld", 50}};
}
Opcodes more_matmul() {
  return {{"vmatmul", 800}, {"vld", 410}};
}
Opcodes softmax() {
  return {{"vpow2", 30}, {"vadd", 90}, {"vld", 10}};
}
Opcodes scale() {
  return {{"vmul", 70}, {"vst", 70}};
}

}  // namespace

TEST_CASE("sections are paired by what they do, in order, and add up to the whole") {
  const Facts before = facts("k.1", 10, {section(0, 4, matmul()), section(20, 3, softmax())});
  const Facts after =
      facts("k.7", 9.5,
            {section(0, 1, scale()), section(30, 6, more_matmul()), section(90, 2, softmax())});
  const FactsComparison found = compare_facts(before, after);
  std::map<std::pair<int, int>, double> differences;
  double sum = 0;
  for (const SectionChange& one : found.sections) {
    auto bundle = [](const std::optional<SectionWork>& of) {
      return of ? static_cast<int>(of->bundle) : -1;
    };
    if (!one.module.empty())
      differences[{bundle(one.before), bundle(one.after)}] = one.seconds.difference();
    sum += one.seconds.difference();
  }
  // A key has the first bundle of the section before and after; -1: this side has no such section.
  // The module runs twice.
  CHECK(differences == std::map<std::pair<int, int>, double>{
                           {{0, 30}, 4}, {{20, 90}, -2}, {{-1, 0}, 2}, {{-1, -1}, -5}});
  CHECK(sum == found.seconds.difference());
}

TEST_CASE("sections that changed places are not the same") {
  const Facts before = facts("k.1", 5, {section(0, 2, matmul()), section(20, 3, softmax())});
  const Facts after = facts("k.1", 5, {section(0, 3, softmax()), section(20, 2, matmul())});
  size_t pairs = 0;
  for (const SectionChange& one : compare_facts(before, after).sections)
    pairs += one.before && one.after ? 1 : 0;
  CHECK(pairs == 1);
}

TEST_CASE("modules of other names have no sections in common") {
  const FactsComparison found = compare_facts(facts("k.1", 1, {section(0, 1, matmul())}),
                                              facts("other.1", 1, {section(0, 1, matmul())}));
  REQUIRE(found.sections.size() == 1);
  CHECK(found.sections[0].seconds.before == found.seconds.before);
  CHECK(found.sections[0].seconds.after == found.seconds.after);
}

TEST_CASE("a count is compared if both programs have it") {
  Facts before = facts("k.1", 1, {}), after = before;
  before.vmem.allocated_bytes = 4096;
  after.steps = 3;
  const FactsComparison found = compare_facts(before, after);
  REQUIRE(found.counts.size() == 1);
  CHECK(found.counts[0].what == "passes through loops");
  CHECK(found.counts[0].after == 3);
}

TEST_CASE("a comparison as JSON has both sides of each entry") {
  const nlohmann::json found =
      to_json(compare_facts(facts("k.1", 1, {section(7, 1, matmul())}), facts("k.2", 3, {})));
  CHECK(found["seconds"] == nlohmann::json{2, 6});
  CHECK(found["difference"] == 4);
  CHECK(found["targets"] == nlohmann::json{"tpu7x", "tpu7x"});
  CHECK(found["by_cause"][0]["seconds"] == nlohmann::json{2, 6});
  CHECK(found["kernels"][0]["name"] == "k");
  for (const nlohmann::json& one : found["sections"]) {
    REQUIRE(one["sections"].size() == 2);
    const nlohmann::json& before = one["sections"][0];
    if (!before.is_null())
      CHECK(before["opcodes"] == nlohmann::json{{"vmatmul", 100}, {"vld", 50}});
    if (!before.is_null()) CHECK_FALSE(before.contains("seconds"));
    CHECK(one["sections"][1].is_null());
  }
}
