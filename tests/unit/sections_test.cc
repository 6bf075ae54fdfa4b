// Tests of sections: where in the text of a schedule the time goes.
#include "engine/ir/model/sections.h"

#include <string>

#include "tests/catch.h"
#include "tests/toy_device.h"

using namespace evolve;
using namespace evolve::ir;

TEST_CASE("sections are what control flow runs as one, and add up to the whole") {
  // The schedule has a prologue, a loop of five bundles that runs four times, a part that is jumped
  // over, and an end.
  auto schedule = parse_schedule(
      " 0 : { %s1_s2 = smov 0 ;; %9 = dma.hbm_to_vmem 0, 100, 0, [#allocation1] }\n"
      " 0x1 : { %s7_s2 = sphi %s1_s2, %s2_s2 ;; %s2_s2 = sadd.s32 1, %s7_s2 ;; %v2_v2 = vadd.f32 "
      "%v1_v1, %v1_v1 }\n"
      " 0x2 : { %p3_p0 = scmp.lt.s32.totalorder %s2_s1, 4 }\n"
      " 0x3 : { %4 = sbr.rel (%p3_p0) target bundleno = 1 (0x1), region = 1 }\n"
      " 0x4 : {}\n 0x5 : { %v3_v3 = vmul.f32 %v1_v1, %v1_v1 }\n"
      " 0x6 : { %5 = sbr.rel target bundleno = 10 (0xa), region = 2 }\n 0x7 : {}\n 0x8 : {}\n"
      " 0x9 : { %v4_v3 = vadd.f32 %v1_v1, %v1_v1 }\n"
      " 0xa : { %6 = dma.done.wait [#allocation1], 100 }\n",
      "toy");
  INFO((schedule ? "" : schedule.error().message));
  REQUIRE(schedule);
  auto simulation = simulate(*schedule, kToy);
  INFO((simulation ? "" : simulation.error().message));
  REQUIRE(simulation);
  auto sections = sections_of(*schedule, *simulation, kToy);
  REQUIRE(sections.size() == 4);  // without the section that never ran
  CHECK(sections[1].first == 1);
  CHECK(sections[1].line == 2);
  CHECK(sections[1].bundles == 5);
  CHECK(sections[1].times == 4);
  CHECK(sections[1].cycles == 20);
  CHECK(sections[1].opcodes.at("vmul.f32") == 4);
  CHECK(sections[1].by_cause[static_cast<size_t>(Cause::vector)] == 8);
  CHECK(sections[3].first == 10);
  CHECK(sections[3].wait_cycles == simulation->stall_cycles);
  CHECK(sections[3].wait_cycles > 0);
  double sum = 0;
  for (const Section& section : sections) sum += section.cycles;
  CHECK(sum == simulation->cycles - simulation->drain_cycles);
}

TEST_CASE("cycles belong to the lines that their instructions come from") {
  auto schedule = parse_schedule(
      " 0 : { %v1_v0 = vadd.f32 %v2_v1, %v3_v2 /* loc(\"/a/k.py\":7:8 to :20) */ ;; %4 = vst "
      "[vmem:[#allocation2]] %v1_v0 /* loc(\"/a/k.py\":9:1 to :4) */ }\n"
      " 0x1 : {}\n 0x2 : { %v5_v0 = vmul.f32 %v2_v1, %v3_v2 /* loc(\"/a/k.py\":9:1 to :4) */ }\n"
      " 0x3 : { %6 = sbr.rel /* loc(\"/a/k.py\":7:1 to :2) */ target bundleno = 7 (0x7) }\n"
      " 0x4 : {}\n 0x5 : {}\n 0x6 : {}\n"
      " 0x7 : { %v5_v0 = vmul.f32 %v2_v1, %v3_v2 }\n",
      "toy");
  INFO((schedule ? "" : schedule.error().message));
  REQUIRE(schedule);
  auto simulation = simulate(*schedule, kToy);
  REQUIRE(simulation);
  // Each line has half of the first two bundles; the branch also has its two delay bundles.
  CHECK(cycles_by_line(*schedule, *simulation, kToy) ==
        std::map<SourceLine, double>{{{"/a/k.py", 7}, 1 + 3}, {{"/a/k.py", 9}, 1 + 1}, {{}, 1}});
  auto sections = sections_of(*schedule, *simulation, kToy);
  REQUIRE(sections.size() == 2);
  CHECK(sections[0].sources ==
        std::map<SourceLine, uint64_t>{{{"/a/k.py", 7}, 2}, {{"/a/k.py", 9}, 2}});
}
