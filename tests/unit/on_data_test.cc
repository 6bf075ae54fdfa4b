// Tests of kernels whose control flow depends on data: times from the cheaper to the dearer side.
#include "engine/ir/model/on_data.h"

#include "engine/ir/facts.h"
#include "engine/ir/model/work.h"
#include "tests/catch.h"
#include "tests/toy_device.h"

using namespace evolve;
using namespace evolve::ir;

namespace {

DataRange range_of(const std::string& text, const Parameters& parameters = {}) {
  auto schedule = parse_schedule(text, "toy");
  REQUIRE(schedule);
  auto range = simulate_range(*schedule, kToy, parameters);
  INFO((range ? "" : range.error().message));
  REQUIRE(range);
  return *std::move(range);
}

std::string error_of(const std::string& text) {
  auto schedule = parse_schedule(text, "toy");
  REQUIRE(schedule);
  auto range = simulate_range(*schedule, kToy);
  return range ? "" : range.error().message;
}

// Returns a schedule that jumps over `around` bundles if the value from the vector units is not 0.
// REQUIRES: `around` is less than five.
std::string branch(int around) {
  std::string text =
      " 0 : { %s1_s0 = spop %s9_s9 }\n"
      " 0x1 : { %p2_p0 = scmp.ne.s32.totalorder %s1_s0, 0 }\n"
      " 0x2 : { %3 = sbr.rel (%p2_p0) target bundleno = " +
      std::to_string(5 + around) + " }\n 0x3 : {}\n 0x4 : {}\n";
  for (int i = 0; i < around; ++i) text += " 0x" + std::to_string(5 + i) + " : {}\n";
  return text + " 0x" + std::to_string(5 + around) + " : {}\n";
}

}  // namespace

TEST_CASE("a kernel that depends on no data has one time") {
  const DataRange one = range_of(" 0 : {}\n 0x1 : {}\n");
  CHECK(one.dearer.cycles == 2);
  CHECK_FALSE(one.cheaper);
  CHECK(one.on_data.empty());
}

TEST_CASE("a branch on data is taken, and is not") {
  const DataRange one = range_of(branch(3));
  CHECK(one.dearer.cycles == 9);
  REQUIRE(one.cheaper);
  CHECK(one.cheaper->cycles == 6);
  CHECK(one.on_data ==
        std::vector<std::string>{"line 3, on a value of the vector units that line 1 reads"});
}

TEST_CASE("a predicate and its negation are one choice") {
  // Exactly one of two ways is taken; they have 1 and 3 bundles.
  const DataRange one = range_of(
      " 0 : { %s1_s0 = spop %s9_s9 }\n"
      " 0x1 : { %p2_p0 = scmp.ne.s32.totalorder %s1_s0, 0 }\n"
      " 0x2 : { %p4_p1 = pneg %p2_p0 ;; %3 = sbr.rel (%p2_p0) target bundleno = 6 }\n"
      " 0x3 : {}\n 0x4 : {}\n 0x5 : {}\n"
      " 0x6 : { %5 = sbr.rel (%p4_p1) target bundleno = 12 }\n"
      " 0x7 : {}\n 0x8 : {}\n 0x9 : {}\n 0xa : {}\n 0xb : {}\n 0xc : {}\n");
  CHECK(one.on_data.size() == 1);
  CHECK(one.dearer.cycles == 12);
  CHECK(one.cheaper->cycles == 10);
}

TEST_CASE("the length of a loop may not depend on data") {
  CHECK(error_of(" 0 : { %s1_s0 = spop %s9_s9 }\n"
                 " 0x1 : { %p2_p0 = scmp.ne.s32.totalorder %s1_s0, 0 }\n"
                 " 0x2 : { %3 = sbr.rel (%p2_p0) target bundleno = 0 }\n 0x3 : {}\n 0x4 : {}\n") ==
        "toy:3: the model cannot follow: an unknown predicate: it depends on a value of the vector "
        "units that line 1 reads");
}

TEST_CASE("whole numbers that were not given are not data") {
  CHECK(error_of(" 0 : { %s1_s0 = inlined_call_operand.<no memory space> [shape: s32[], index: 0, "
                 "kind: input] }\n"
                 " 0x1 : { %p2_p0 = scmp.ne.s32.totalorder %s1_s0, 0 }\n"
                 " 0x2 : { %3 = sbr.rel (%p2_p0) target bundleno = 5 }\n 0x3 : {}\n 0x4 : {}\n 0x5 "
                 ": {}\n")
            .ends_with("operand 0 (s32[]), whose values are not known"));
}

TEST_CASE("work that the cheaper side leaves out is not certain") {
  const std::string text =
      " 0 : { %s1_s0 = spop %s9_s9 }\n"
      " 0x1 : { %p2_p0 = scmp.ne.s32.totalorder %s1_s0, 0 }\n"
      " 0x2 : { %3 = sbr.rel (%p2_p0) target bundleno = 10 }\n 0x3 : {}\n 0x4 : {}\n 0x5 : {}\n"
      " 0x6 : {}\n 0x7 : {}\n 0x8 : {}\n"  // these always run
      " 0x9 : { %v1_v0 = vadd.f32 %v2_v1, %v3_v2 }\n 0xa : {}\n";
  const Device device = *find_device("tpu7x");
  const Dumps dumps = {{"k.1/packed-bundles-post-ra.txt", text}};
  auto run = run_program(dumps, device);
  REQUIRE(run);
  const Work work = work_of(*run, device);
  CHECK(work.vector_flops == 1024);
  CHECK(work.uncertain_flops == 1024);
  CHECK(work.guard == "k.1: line 3, on a value of the vector units that line 1 reads");
  auto facts = facts_of(*run, dumps, {}, device);
  REQUIRE(facts);
  REQUIRE(facts->modelled.cheaper_seconds);
  CHECK(*facts->modelled.cheaper_seconds < facts->modelled.seconds);
  CHECK(facts->on_data.at(0).kernel == "k.1");
}
