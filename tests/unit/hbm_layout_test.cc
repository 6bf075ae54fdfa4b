// Tests of the layout of operands in HBM, which gives the operand of a transfer.
#include "engine/ir/model/hbm_layout.h"

#include "engine/ir/model/simulator.h"
#include "tests/catch.h"
#include "tests/toy_device.h"

using namespace evolve::ir;

namespace {

Schedule with_operands(std::vector<KernelOperand> operands) {
  Schedule out;
  out.operands = std::move(operands);
  return out;
}

}  // namespace

TEST_CASE("operands in HBM lie apart, as far as their padded size, and others do not lie there") {
  const HbmLayout layout(with_operands({{0, "hbm", "bf16", {4096, 32768}, false},
                                        {1, "vmem", "f32", {8, 128}, false},
                                        {2, "hbm", "f32", {3, 5}, false},
                                        {7, "hbm", "s8", {1}, true}}));
  const uint32_t first = *layout.address_of(0), second = *layout.address_of(2),
                 last = *layout.address_of(7);
  CHECK_FALSE(layout.address_of(1));
  CHECK_FALSE(layout.address_of(3));
  CHECK(first > parameter_address(kMostParameters));
  // Addresses count units of 32 bytes. A bfloat16 array gets more room than it needs.
  CHECK(second - first >= 4096U * 32768 * 2 / 32);
  CHECK(last - second >= 32 * 128 * 4 / 32);
  CHECK(layout.at(first)->operand == 0U);
  CHECK(layout.at(second - 1)->operand == 0U);
  CHECK(layout.at(second)->operand == 2U);
  CHECK(layout.at(last + 5)->operand == 7U);
  CHECK_FALSE(layout.at(first - 1));
  CHECK_FALSE(layout.at(last + 32 * 128));
  CHECK_FALSE(layout.at(0));
}

TEST_CASE("an operand without room has no address, and the next operand has one") {
  const HbmLayout layout(with_operands({{0, "hbm", "f32", {1U << 31, 1U << 31, 1U << 31}, false},
                                        {1, "hbm", "f32", {1U << 20, 1U << 17}, false},
                                        {2, "hbm", "f32", {0, 8}, false}}));
  CHECK_FALSE(layout.address_of(0));
  CHECK_FALSE(layout.address_of(1));
  CHECK(layout.at(*layout.address_of(2))->operand == 2U);
}

TEST_CASE("bytes and waits are told by the operand, in loops that are added up, too") {
  auto schedule = parse_schedule(
      " 0 : { %s1_s0 = inlined_call_operand.hbm [shape: f32[64,128], index: 0, kind: input] ;; "
      "%s2_s1 = inlined_call_operand.hbm [shape: f32[64,128], index: 1, kind: output] ;; %s3_s3 = "
      "smov 0 ;; %9 = vsyncpa [#allocation2], 0 ;; %10 = vsyncpa [#allocation3], 0 }\n"
      " 0x1 LB: > { %s4_s3 = sphi %s3_s3, %s5_s3 }\n"
      " 0x2 : { %6 = dma.hbm_to_vmem %s1_s0, 4, [#allocation1], [#allocation2] ;; %7 = "
      "dma.done.wait [#allocation2], 4 ;; %11 = vsyncadd [#allocation2], 4294967292 }\n"
      " 0x3 : { %8 = dma.vmem_to_hbm [#allocation1], 2, %s2_s1, [#allocation3] ;; %12 = "
      "dma.done.wait [#allocation3], 2 ;; %13 = vsyncadd [#allocation3], 4294967294 ;; %s5_s3 = "
      "sadd.s32 1, %s4_s3 }\n"
      " 0x4 : { %p14_p0 = scmp.lt.s32.totalorder %s5_s3, 1000 }\n"
      " 0x5 : { %15 = sbr.rel (%p14_p0) target bundleno = 1 (0x1) }\n 0x6 : {}\n 0x7 : {}\n",
      "toy");
  INFO((schedule ? "" : schedule.error().message));
  REQUIRE(schedule);
  for (bool adds_up : {true, false}) {
    auto run = simulate(*schedule, kToy, {}, {kMostBundlesWalked, adds_up});
    INFO((run ? "" : run.error().message));
    REQUIRE(run);
    REQUIRE(run->traffic.size() == 2);
    CHECK(run->traffic.at(0) == Traffic{1000, 0, 128000, 0, 1000 * (4 + 10)});
    CHECK(run->traffic.at(1) == Traffic{0, 1000, 0, 64000, 1000 * (2 + 10)});
    CHECK(run->stall_cycles == 1000 * (14 + 12));
  }
}
