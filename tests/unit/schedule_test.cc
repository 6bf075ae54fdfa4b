// Tests of the schedule's reader and of the model, on schedules small enough to count by hand.
#include "engine/ir/readers/schedule.h"

#include <fmt/format.h>

#include "engine/ir/model/simulator.h"
#include "tests/catch.h"
#include "tests/toy_device.h"

using namespace evolve;
using namespace evolve::ir;

namespace {

Simulation run(const std::string& text, const Parameters& parameters = {}) {
  auto schedule = parse_schedule(text, "toy");
  INFO((schedule ? "" : schedule.error().message));
  REQUIRE(schedule);
  auto simulation = simulate(*schedule, kToy, parameters);
  INFO((simulation ? "" : simulation.error().message));
  REQUIRE(simulation);
  return *simulation;
}

std::string error_of(const std::string& text) {
  auto schedule = parse_schedule(text, "toy");
  if (!schedule) return schedule.error().message;
  auto simulation = simulate(*schedule, kToy);
  return simulation ? "" : simulation.error().message;
}

}  // namespace

TEST_CASE("a bundle is a cycle, empty ones too") {
  Simulation one =
      run("   0 : { %s1_s0 = smov 3 }\n 0x1 : {}\n 0x2 : { %v1_v0 = vadd.f32 %v2_v1, %v3_v2 ;; %2 "
          "= vst [vmem:[%s1_s0]] %v1_v0 }\n");
  CHECK(one.cycles == 3);
  CHECK(one.bundles == 3);
  CHECK(one.empty_bundles == 1);
  CHECK(one.issued[static_cast<size_t>(Unit::valu)] == 1);
  CHECK(one.issued[static_cast<size_t>(Unit::store)] == 1);
}

TEST_CASE("a loop runs as often as its counter says, with the bundles behind the branch") {
  // The schedule runs the first bundle, then 5 passes of 5 bundles: two bundles of the body, the
  // branch, and two delay bundles.
  Simulation one =
      run("   0   :  { %s10_s1 = smov 0 }\n"
          " 0x1 LB: > { %s12_s2 = sadd.s32 1, %s11_s1 /* next */ ;; %s11_s1 = sphi %s10_s1, "
          "%s13_s1 /* phi */ }\n"
          " 0x2   : > { %p1_p0 = scmp.ge.s32.totalorder %s12_s2, 5 ;; %s13_s1 = smov %s12_s2 }\n"
          " 0x3   :  { %20 = sbr.rel (!%p1_p0) target bundleno = 1 (0x1), region = 1 }\n"
          " 0x4   :  {}\n 0x5   :  {}\n");
  CHECK(one.cycles == 1 + 5 * 5);
  CHECK(one.steps == 4);
}

TEST_CASE("a wait stalls until the transfer and its latency are over") {
  Simulation one =
      run(" 0 : { %s1_s0 = inlined_call_operand.hbm [shape: bf16[8,128]] }\n"
          " 0x1 : { %5 = dma.hbm_to_vmem [thread:$0]  /*hbm=*/%s1_s0, /*size_in_granules=*/100, "
          "/*vmem=*/[#allocation1], "
          "/*dst_syncflagno=*/[#allocation2] }\n"
          " 0x2 : { %6 = dma.done.wait [#allocation2], 100 }\n");
  // The transfer starts in cycle 1, moves for 100 cycles and arrives 10 cycles later. The wait
  // itself takes a cycle.
  CHECK(one.cycles == 112);
  CHECK(one.stall_cycles == 109);
  CHECK(one.load_bytes == 3200);
}

TEST_CASE("transfers pass one after another") {
  std::string text = " 0 : { %s1_s0 = smov 7 }\n";
  for (int i = 1; i <= 2; ++i) {
    text += " 0x" + std::to_string(i) +
            " : { %5 = dma.vmem_to_hbm [thread:$0]  %s1_s0, 50, %s1_s0, [#allocation2] }\n";
  }
  text += " 0x3 : { %6 = dma.done.wait [#allocation2], 100 }\n";
  CHECK(run(text).cycles == 1 + 50 + 50 + 10 + 1);
  CHECK(run(text).store_bytes == 3200);
}

TEST_CASE("an instruction whose predicate does not hold does nothing") {
  Simulation one =
      run(" 0 : { %p1_p0 = scmp.eq.s32.totalorder 1, 2 }\n"
          " 0x1 : { %5 = dma.hbm_to_vmem [thread:$0]  (%p1_p0), 0, 50, 0, [#allocation2] }\n"
          " 0x2 : { %6 = dma.done.wait (%p1_p0), [#allocation2], 50 }\n"
          " 0x3 : { %s2_s0 = smov (%p1_p0, 9), 4 ;; %p2_p1 = scmp.eq.s32.totalorder %s2_s0, 9 }\n"
          " 0x4 : { %7 = dma.hbm_to_vmem [thread:$0]  (%p2_p1), 0, 50, 0, [#allocation2] }\n");
  CHECK(one.loads == 1);
  CHECK(one.stall_cycles == 0);
}

TEST_CASE("scalar memory keeps what was put there") {
  Simulation one =
      run(" 0 : { %1 = sst [smem:[#allocation3_spill]] 42 }\n"
          " 0x1 : { %s2_s0 = sld [smem:[#allocation3_spill]] ;; %p1_p0 = scmp.ne.s32.totalorder "
          "%s2_s0, 42 }\n"
          " 0x2 : { %5 = dma.hbm_to_vmem [thread:$0]  (!%p1_p0), 0, 50, 0, [#allocation2] }\n");
  CHECK(one.loads == 1);
}

TEST_CASE("an address is a sum of what names hold") {
  Simulation one =
      run(" 0 : { %s1_s0 = smov 2 ;; %s2_s1 = smov [#allocation3] }\n"
          " 0x1 : { %1 = sst [smem:[#allocation3 + %s1_s0]] 42 }\n"
          " 0x2 : { %s3_s2 = sld [smem:[%s2_s1 + %s1_s0]] ;; %s4_s3 = sld [smem:[#allocation3 + "
          "$0x2]] ;; %s5_s4 = sld [smem:[%s2_s1 + $0x2]] }\n"
          " 0x3 : { %s6_s5 = sadd.s32 %s3_s2, %s4_s3 }\n"
          " 0x4 : { %s7_s6 = sadd.s32 %s6_s5, %s5_s4 }\n"
          " 0x5 : { %p1_p0 = scmp.eq.s32.totalorder %s7_s6, 126 }\n"
          " 0x6 : { %5 = dma.hbm_to_vmem [thread:$0]  (%p1_p0), 0, 50, 0, [#allocation2] }\n");
  CHECK(one.loads == 1);
}

namespace {

// A schedule with two operands: a table, and a number that chooses an entry of the table. It moves
// as many granules as the entry says.
constexpr const char* kTable =
    " 0 : { %s1_s0 = inlined_call_operand.vmem [shape: s32[9], index: 1, kind: input] ;; %s2_s1 = "
    "inlined_call_operand.<no memory space> [shape: s32[], index: 0, kind: input] }\n"
    " 0x1 : { %s3_s2 = sshll.u32 %s1_s0, 4 ;; %s4_s2 = int_to_ptr.vmem [resolvable:$true] %s3_s2 "
    "}\n"
    " 0x2 : { %s5_s3 = scalar_lea.vmem %s4_s2, 1 }\n"
    " 0x3 : { %6 = dma.vmem_to_smem %s5_s3, 1, [#allocation4], [#allocation3] }\n"
    " 0x4 : { %7 = dma.done.wait [#allocation3], 1 }\n"
    " 0x5 : { %s8_s4 = sld [smem:[#allocation4 + %s2_s1]] }\n"
    " 0x6 : { %9 = dma.hbm_to_vmem [thread:$0]  0, %s8_s4, 0, [#allocation2] }\n";

}  // namespace

TEST_CASE("operands that are given decide what runs") {
  Parameters given = {{0, {2}}, {1, {0, 0, 0, 0, 0, 0, 0, 0, 7, 8, 9}}};
  Simulation one = run(kTable, given);
  CHECK(one.load_bytes == 9 * 32);
  // The table comes from within the chip, so its transfer costs only the latency.
  CHECK(one.loads == 1);
  CHECK(one.stall_cycles == 9);
}

TEST_CASE("a table that lies in HBM is read, from where the transfer begins") {
  const std::string text =
      " 0 : { %s1_s0 = inlined_call_operand.hbm [shape: s32[16], index: 1, kind: input] ;; %s9_s7 "
      "= inlined_call_operand.hbm [shape: s32[16], index: 0, kind: input] }\n"
      " 0x1 : { %s2_s1 = scalar_lea.hbm %s1_s0, 1 }\n"
      " 0x2 : { %6 = dma.hbm_to_smem %s2_s1, 1, [#allocation4], [#allocation3] }\n"
      " 0x3 : { %7 = dma.done.wait [#allocation3], 1 }\n"
      " 0x4 : { %s8_s4 = sld [smem:[#allocation4 + $0x2]] }\n"
      " 0x5 : { %9 = dma.hbm_to_vmem [thread:$0]  %s9_s7, %s8_s4, 0, [#allocation2] }\n";
  const Simulation one = run(text, {{1, {0, 0, 0, 0, 0, 0, 0, 0, 7, 8, 9}}});
  CHECK(one.traffic.at(0).load_bytes == 9 * 32);
  CHECK(one.traffic.at(1).load_bytes == 32);
  CHECK(error_of(text).ends_with("a DMA with an unknown size or flag"));
}

TEST_CASE("a predicate may be a constant") {
  const Simulation one =
      run(" 0 : { %5 = dma.hbm_to_vmem [thread:$0]  (0), 0, 50, 0, [#allocation2] ;; %6 = "
          "dma.hbm_to_vmem [thread:$0]  (!0), 0, 3, 0, [#allocation2] }\n"
          " 0x1 : { %7 = dma.done.wait (0), [#allocation2], 50 ;; %s1_s0 = smov (!1, 5), 6 }\n"
          " 0x2 : { %8 = dma.hbm_to_vmem [thread:$0]  (1), 0, %s1_s0, 0, [#allocation2] }\n");
  CHECK(one.load_bytes == 32 * (3 + 5));
}

TEST_CASE("of an immediate with a mark, the number counts") {
  const Simulation one =
      run(" 0 : { %s1_s0 = scalar_lea.sflag [#allocation6], 1 }\n"
          " 0x1 : { %s2_s1 = scalar_lea.sflag %s1_s0, 2 [#allocation6] }\n"
          " 0x2 : { %5 = dma.hbm_to_vmem [thread:$0]  0, 50, 0, [#allocation6 + $0x3] }\n"
          " 0x3 : { %6 = dma.done.wait %s2_s1, 50 }\n");
  CHECK(one.loads == 1);
}

TEST_CASE("a pointer is another name for its register, also where what made it did not run") {
  // The shift does not run, so register s0 still holds 4. The pointer is another name for s0.
  const Simulation one =
      run(" 0 : { %s1_s0 = smov 4 ;; %p1_p0 = scmp.eq.s32.totalorder 1, 2 }\n"
          " 0x1 : { %s2_s0 = sshll.u32 (%p1_p0), %s8_s3, 4 ;; %s3_s0 = int_to_ptr.vmem "
          "[resolvable:$true] %s2_s0 }\n"
          " 0x2 : { %s4_s0 = sphi %s1_s0, %s3_s0 }\n"
          " 0x3 : { %9 = dma.hbm_to_vmem [thread:$0]  0, %s4_s0, 0, [#allocation2] }\n");
  CHECK(one.load_bytes == 32 * 4);
}

TEST_CASE("an unknown instruction is named only where something depends on it") {
  const std::string text =
      " 0 : { %s1_s0 = sfancy.s32 1, 2 ;; %2 = snews.s32 3 ;; %p3_p0 = scmp.eq.s32.totalorder "
      "%s1_s0, 3 }\n";
  CHECK(run(text).bundles == 1);
  CHECK(error_of(text + " 0x1 : { %9 = dma.hbm_to_vmem (%p3_p0), 0, 1, 0, [#allocation2] }\n") ==
        "toy:2: the model cannot follow: an unknown predicate: it depends on the unknown result of "
        "'sfancy.s32' in line 1");
}

TEST_CASE("newer compilers have a type in the name of a move") {
  const Simulation one =
      run(" 0 : { %s1_s0 = smov.u32 4 ;; %p2_p0 = pmov.b1 1 }\n"
          " 0x1 : { %9 = dma.hbm_to_vmem [thread:$0]  (%p2_p0), 0, %s1_s0, 0, [#allocation2] }\n");
  CHECK(one.load_bytes == 32 * 4);
}

TEST_CASE("operands that are not given are not known") {
  std::string unknown = "toy:7: the model cannot follow: a DMA with an unknown size or flag";
  CHECK(error_of(kTable) == unknown);
  auto schedule = parse_schedule(kTable, "toy");
  REQUIRE(schedule);
  // The table ends before the chosen entry.
  auto simulation = simulate(*schedule, kToy, {{0, {2}}, {1, std::vector<uint32_t>(10)}});
  REQUIRE_FALSE(simulation);
  CHECK(simulation.error().message == unknown);
}

TEST_CASE("a store to an unknown address makes the whole memory unknown") {
  CHECK(error_of(" 0 : { %1 = sst [smem:[#allocation3]] 42 }\n"
                 " 0x1 : { %2 = sst [smem:[%s9_s9]] 1 }\n"
                 " 0x2 : { %s2_s0 = sld [smem:[#allocation3]] }\n"
                 " 0x3 : { %9 = dma.hbm_to_vmem [thread:$0]  0, %s2_s0, 0, [#allocation2] }\n")
            .ends_with("a DMA with an unknown size or flag"));
}

TEST_CASE("a division gives what its comment says, quotient before remainder") {
  Simulation one =
      run(" 0 : { %5 = sdivrem.u32 47, 15 /* kDivAndRem */ ;; %6 = sdivrem.u32 47, 9 /* kRem */ }\n"
          " 0x1 : { %s1_s0 = spop.drf %5 ;; %s2_s1 = spop.drf %6 }\n"
          " 0x2 : { %s3_s2 = spop.drf %5 }\n"
          " 0x3 : { %7 = dma.hbm_to_vmem [thread:$0]  0, %s1_s0, 0, [#allocation2] }\n"
          " 0x4 : { %8 = dma.vmem_to_hbm [thread:$0]  0, %s2_s1, 0, [#allocation2] }\n"
          " 0x5 : { %9 = dma.vmem_to_hbm [thread:$0]  0, %s3_s2, 0, [#allocation2] }\n");
  CHECK(one.load_bytes == 32 * 3);
  CHECK(one.store_bytes == 32 * (2 + 2));
  CHECK(error_of(" 0 : { %5 = sdivrem.u32 47, 0 /* kDiv */ }\n 0x1 : { %s1_s0 = spop.drf %5 }\n"
                 " 0x2 : { %7 = dma.hbm_to_vmem 0, %s1_s0, 0, [#allocation2] }\n")
            .ends_with("a DMA with an unknown size or flag"));
}

TEST_CASE("a flag may be read, and waited for from below") {
  Simulation one = run(
      " 0 : { %1 = vsyncpa [#allocation2], 0 ;; %2 = dma.hbm_to_vmem 0, 7, 0, [#allocation2] }\n"
      " 0x1 : { %3 = vsyncmov [#allocation2] }\n"  // nothing has arrived yet
      " 0x2 : { %s4_s0 = spop.sfrf %3 }\n"         // the instruction's name in newer compilers
      " 0x3 : { %5 = vsyncadd [#allocation2], 4294967289 }\n"
      " 0x4 : { %6 = vwait.ge [#allocation2], 0 }\n"
      " 0x5 : { %7 = vsyncadd [#allocation2], 3 }\n"
      " 0x6 : { %8 = vsyncmov [#allocation2] ;; %s9_s1 = vpop.sfrf %8 }\n"
      " 0x7 : { %9 = dma.vmem_to_hbm 0, %s4_s0, 0, [#allocation3] }\n"
      " 0x8 : { %10 = dma.vmem_to_hbm 0, %s9_s1, 0, [#allocation3] }\n");
  CHECK(one.stall_cycles == 7 + 10 - 4);
  CHECK(one.store_bytes == 32 * 3);
}

TEST_CASE("the scalar unit's floats are 32-bit floats") {
  Simulation one = run(
      " 0 : { %s1_s0 = smul.f32 2.5, 3.0 ;; %s2_s1 = sfloor.f32 %s1_s0 }\n"
      " 0x1 : { %s3_s2 = scvt.f32.s32 %s2_s1 ;; %p4_p0 = scmp.gt.f32.partialorder %s1_s0, 7.25 }\n"
      " 0x2 : { %5 = dma.hbm_to_vmem (%p4_p0), 0, %s3_s2, 0, [#allocation2] }\n");
  CHECK(one.load_bytes == 32 * 7);
}

TEST_CASE("within HBM a byte crosses twice") {
  Simulation one =
      run(" 0 : { %5 = dma.hbm_to_hbm 0, 50, 0, [#allocation2] }\n"
          " 0x1 : { %6 = dma.done.wait [#allocation2], 50 }\n");
  CHECK(one.load_bytes == 1600);
  CHECK(one.store_bytes == 1600);
  CHECK(one.cycles == 100 + 10 + 1);
}

TEST_CASE("comments nest and go on over lines") {
  Simulation one =
      run(" 0 : { %5 = shalt.err (!%p9) /* BoundsCheck for dma /*vmem=*/%s1, /*size=*/3 /* \n"
          "bounds: (8, 8) */ \nhlo: kernel.1\n */ }\n 0x1 : {}\n");
  CHECK(one.cycles == 2);
}

TEST_CASE("the model names an unknown operation, and does not guess") {
  CHECK(
      error_of(
          " 0 : { %s1_s0 = sld [smem:[%s9_s1]] ;; %p1_p0 = scmp.eq.s32.totalorder %s1_s0, 0 }\n"
          " 0x1 : { %2 = sbr.rel (%p1_p0) target bundleno = 0 (0x0), region = 1 }\n 0x2 : {}\n") ==
      "toy:2: the model cannot follow: an unknown predicate: it depends on a word of the scalar "
      "memory that line 1 reads");
  CHECK(error_of(" 0 : { %6 = dma.done.wait [#allocation2], 100 }\n") ==
        "toy:1: the model cannot follow: a wait that no DMA ends");
  CHECK(error_of(" 0 : { %2 = sbr.rel target bundleno = 0 (0x0) }\n 0x1 : {}\n 0x2 : {}\n")
            .ends_with("the model cannot follow: the kernel runs too long"));
}

TEST_CASE("this is the first core") {
  Simulation one =
      run(" 0 : { %s1_s0 = sld [smem:[#allocation0]] /* core id */ }\n"
          " 0x1 : { %p2_p0 = scmp.eq.s32.totalorder %s1_s0, 0 }\n"
          " 0x2 : { %3 = dma.hbm_to_vmem (%p2_p0), 0, 100, 0, [#allocation1] }\n");
  CHECK(one.loads == 1);
}

TEST_CASE("a kernel ends without an error: what it checks holds") {
  const std::string load = " 0 : { %s1_s0 = sld [smem:[%s9_s1]] }\n";
  const std::string compare = " 0x1 : { %p2_p0 = scmp.eq.s32.totalorder %s1_s0, 7 }\n";
  const std::string transfer =
      " 0x2 : { %3 = dma.hbm_to_vmem (%p2_p0), 0, 100, 0, [#allocation1] }\n";
  CHECK(run(load + compare + transfer + " 0x3 : { %4 = shalt.err (!%p2_p0) }\n").loads == 1);
  CHECK(run(load + compare + transfer + " 0x3 : { %4 = shalt.err (%p2_p0) }\n").loads == 0);
  CHECK(
      error_of(load + compare + transfer)
          .ends_with(
              "an unknown predicate: it depends on a word of the scalar memory that line 1 reads"));
  // A known value stays as it is, even if a check contradicts it.
  CHECK(run(" 0 : { %s1_s0 = smov 7 }\n" + compare + transfer +
            " 0x3 : { %4 = shalt.err (%p2_p0) }\n")
            .loads == 1);
}

TEST_CASE("garbage is refused with its line") {
  CHECK(error_of("") == "toy:0: the schedule has no bundles");
  CHECK(error_of("hello\n") == "toy:1: the schedule has no bundles");
  CHECK(error_of("\n 0 : { %1 = sst\n") == "toy:2: a bundle has no '}'");
  CHECK(error_of(" zz : {}\n") == "toy:1: a bundle has no address");
  CHECK(error_of(" 0 : {} /* open\n") == "toy:1: a comment does not end");
  CHECK(error_of(" 0 : {} /* Start region 0 :: Start region 1 */\n 0x1 : {}\n") ==
        "toy:2: the schedule ends before region 0");
  CHECK(error_of(" 0 : {} /* Start region 0 */\n 0x1 : {} /* End region 1 :: End region 0 */\n")
            .empty());
  CHECK(error_of(" 0 : {}\n 0 : {}\n") == "toy:2: bundle 0x0, expected 0x1");
  CHECK(error_of(" 0 : {}\n 0x2 : {}\n") == "toy:2: bundle 0x2, expected 0x1");
  CHECK(error_of(" 0 : { hello }\n") == "toy:1: not an instruction: 'hello'");
  CHECK(error_of(" 0 : { %2 = sbr.rel target bundleno = 77 (0x4d) }\n") ==
        "toy:1: branch to bundle 0x4d, which does not exist");
  for (const char* text : {" 0 : { % = }\n", " 0 : { %s = smov }\n", " 0 : { = = = }\n",
                           " 0 : { %s1 = sadd.s32 ( }\n", " 0 : { %s1 = sld [[[ }\n",
                           " 0 : { %1 = dma.x [thread: }\n", " 0 : { %s1 = smov (!), }\n"}) {
    INFO(text);
    error_of(text);  // any message will do, but the reader must return
  }
}

TEST_CASE("addresses say where a transfer goes whose remark does not") {
  const auto moved = [](const char* from, const char* to) {
    return run(
        fmt::format(" 0 : {{ %s1_s0 = {} 0 ;; %s2_s1 = {} 64 }}\n"
                    " 0x1 : {{ %3 = dma.general /*src=*/%s1_s0, /*size_in_granules=*/8, "
                    "/*dst=*/%s2_s1, /*dst_syncflagno=*/[#allocation1] }}\n"
                    " 0x2 : {{ %4 = dma.done.wait [#allocation1], 8 }}\n",
                    from, to));
  };
  CHECK(moved("int_to_ptr.vmem", "scalar_lea.hbm").store_bytes == 8 * 32);
  CHECK(moved("scalar_lea.hbm", "scalar_lea.vmem").load_bytes == 8 * 32);
  const Simulation within = moved("scalar_lea.hbm", "int_to_ptr.hbm");
  CHECK(within.load_bytes + within.store_bytes == 2 * 8 * 32);
  // A register that may be an address in any memory does not give the direction of the transfer, so
  // nothing ends the wait.
  CHECK(error_of(" 0 : { %s1_s0 = smov 0 }\n"
                 " 0x1 : { %3 = dma.general %s1_s0, 8, %s1_s0, [#allocation1] }\n"
                 " 0x2 : { %4 = dma.done.wait [#allocation1], 8 }\n") ==
        "toy:3: the model cannot follow: a wait that no DMA ends");
}
