// Tests of one of libtpu's LLO passes: its regions, their allocations (memory and lifetime), and
// spills.
#include "engine/ir/readers/llo.h"

#include "engine/ir/readers/live_range.h"
#include "tests/catch.h"

using namespace evolve;
using namespace evolve::ir;

namespace {

// A pass like that of a matmul: a loop, with parts that run only sometimes.
constexpr const char* kPass = R"(// [Enable stack traces via -xla_jf_collect_llo_stack_trace]
$region0: #{gmm.1}
  #allocation0 [shape = 'u32[]', space=smem, size = 0x4, offset = 0x4, fixed_abs, tag = 'core index']
  #allocation2 [shape = 'f32[8,128]{1,0:T(8,128)}', space=vmem, size = 0x1000, offset = 0, scoped, tag = 'input window allocation for operator input 0. The window shape is f32[8,128], while']
  %s1_s0 = inlined_call_operand.hbm [shape: f32[8,128], index: 0, kind: input] /* operand 0 */
  $region1: #{gmm.1} parent=0
    loop: start=0, step=1, limit=258
    $region4: #{gmm.1} parent=1 // loop_body
      #allocation7_spill [shape = 'u32[1]{0}', space=smem, size = 0x4, offset = 0x200, scoped, tag = 'spilled sreg/preg']
      %5 = sst [smem:[#allocation7_spill]] %s1_s0
      // Predicated region
      $region5: #{gmm.1} parent=4 // pred_check_branch
        %9 = sbr.rel (%p8_p0) target = $region7
      $region6: #{gmm.1} parent=4 // pred_region
        #allocation8_spill [shape = 'u32[8,128]{1,0}', space=vmem, size = 0x1000, offset = 0x1000, scoped, tag = 'spilled vreg/vmreg']
        #allocation9_spill [shape = 'u32[8,128]{1,0}', space=vmem, size = 0x1000, offset = 0x2000, scoped, tag = 'spilled vreg/vmreg']
        %10 = dma.hbm_to_vmem [thread:$0]  (%p3), /*hbm=*/%s1_s0, /*vmem=*/%s2_s1 /*
hlo: gmm.1 /* dma.hbm_to_smem = */
 */
        %11 = vst [vmem:[#allocation8_spill] sm:$0xff] /*vst_source=*/%v3_v0
        %v4_v1 = vld [vmem:[#allocation8_spill] sm:$0xff]
        %v5_v1 = vld [vmem:[#allocation2] sm:$0xff]
        %12 = dma.done.wait [#allocation6], 64 /* pipeline-emitter-dma-wait */
      $region7: #{gmm.1} parent=4 // pred_fallthru
        _
      $region8: #{gmm.1} parent=4 // pred_region
        #allocation10 [shape = 'f32[4,128]{1,0}', space=vmem, size = 0x800, offset = 0x1000, scoped, tag = 'scratch operand']
        %13 = vnop
    $region9: #{gmm.1} parent=1 // loop_exit
      _
    %14 = vnop
)";

std::string message(std::string_view text) {
  auto pass = read_llo(text, "x");
  return pass ? "" : pass.error().message;
}

std::vector<std::string> opcodes(const LloPass& pass, const std::vector<LloInstruction>& list) {
  std::vector<std::string> out;
  out.reserve(list.size());
  for (const LloInstruction& one : list) out.push_back(pass.opcodes[one.opcode]);
  return out;
}

}  // namespace

TEST_CASE("a pass is a tree of regions") {
  auto pass = read_llo(kPass, "x");
  REQUIRE(pass);
  REQUIRE(pass->regions.size() == 8);
  CHECK(pass->count == 10);
  CHECK(pass->regions[0].parent == 0);
  CHECK(pass->regions[2].number == 4);
  CHECK(pass->regions[2].kind == RegionKind::loop_body);
  CHECK(pass->regions[3].kind == RegionKind::control);
  CHECK(pass->regions[4].kind == RegionKind::predicated);
  CHECK(pass->regions[4].parent == 2);
  CHECK(pass->regions[4].line == 14);
  CHECK(pass->regions[1].kind == RegionKind::plain);
}

TEST_CASE("an allocation has its space, its size and its region") {
  auto pass = read_llo(kPass, "x");
  REQUIRE(pass);
  REQUIRE(pass->allocations.size() == 6);
  CHECK(pass->allocations[0].is_fixed);
  const LloAllocation& window = pass->allocations[1];
  CHECK(window.number == 2);
  CHECK(window.space == "vmem");
  CHECK(pass->spaces == std::vector<std::string>{"smem", "vmem"});
  CHECK(window.bytes == 4096);
  CHECK(window.offset == 0);
  CHECK(window.shape == "f32[8,128]{1,0:T(8,128)}");
  CHECK(window.tag == "input window allocation for operator input 0");
  CHECK_FALSE(window.is_spill);
  CHECK(window.line == 4);
  const LloAllocation& slot = pass->allocations[3];
  CHECK(slot.is_spill);
  CHECK(slot.offset == 4096);
  CHECK(pass->regions[slot.region].number == 6);
}

TEST_CASE("transfers, waits and spilled registers are counted without those in comments") {
  auto pass = read_llo(kPass, "x");
  REQUIRE(pass);
  CHECK(opcodes(*pass, pass->transfers) == std::vector<std::string>{"dma.hbm_to_vmem"});
  CHECK(opcodes(*pass, pass->waits) == std::vector<std::string>{"dma.done.wait"});
  CHECK(opcodes(*pass, pass->spills) == std::vector<std::string>{"sst", "vst"});
  REQUIRE(opcodes(*pass, pass->fills) == std::vector<std::string>{"vld"});
  CHECK(pass->fills[0].line == 21);
  CHECK(pass->regions[pass->fills[0].region].number == 6);

  auto before = read_llo(
      "$region0:\n"
      "  %1 = vpseudo.spill_to_mem %v1\n"
      "  %v2 = vpseudo.fill_from_mem %1\n"
      "  %v3 = vmpseudo.fill_from_virtual %1\n"
      "  %v4 = vadd.f32 %v2, %v3\n",
      "x");
  REQUIRE(before);
  CHECK(opcodes(*before, before->spills) == std::vector<std::string>{"vpseudo.spill_to_mem"});
  CHECK(opcodes(*before, before->fills) ==
        std::vector<std::string>{"vpseudo.fill_from_mem", "vmpseudo.fill_from_virtual"});
}

TEST_CASE("regions side by side share their room") {
  auto pass = read_llo(kPass, "x");
  REQUIRE(pass);
  SpaceUse vmem = space_use(*pass, "vmem");
  CHECK(vmem.bytes == 0x3800);
  CHECK(vmem.peak_bytes == 0x3000);
  CHECK(vmem.spilled_bytes == 0x2000);
  // An allocation that is `fixed_abs` is only a name for an address, and occupies no memory.
  CHECK(space_use(*pass, "smem").bytes == 4);
  CHECK(space_use(*pass, "hbm").peak_bytes == 0);
}

TEST_CASE("a pass with stack traces is read up to them") {
  auto pass = read_llo(
      "// Slow dumping with stack traces?\n"
      "$region0:\n"
      "  #allocation0 [shape = 'u32[]', space=smem, size = 0xffffffffffffffff, tag = 'it'] "
      "(stack0)\n"
      "  $region3 (PrimaryCoreRegion): parent=0 // pred_region\n"
      "    // region range: [30, 30)\n"
      "  %2 = vnop (stack1)\n"
      "\n"
      "stack0\n"
      "    @     0x7f18  xla::jellyfish()\n",
      "x");
  REQUIRE(pass);
  CHECK(pass->regions.size() == 2);
  CHECK(pass->allocations[0].tag == "it");
  // A size of 64 set bits is not known yet: a later pass decides it.
  CHECK(pass->allocations[0].bytes == 0);
}

TEST_CASE("a pass that is not whole is refused with its line") {
  CHECK(message("") == "x:0: the pass has no regions");
  CHECK(message("$region0:\n  %1 = vnop") == "x:2: the file ends within a line");
  CHECK(message("$region0:\n  %1 = vnop\n  $region1: parent=0\n") ==
        "x:3: the file ends within a region");
  CHECK(message("$region0:\n  %1 = vnop /* it\n goes on\n") == "x:2: a comment does not end");
  CHECK(message("$region0:\n  %1 = sbr.rel (%p1) target = $region7\n") ==
        "x:2: branch to region 7, which does not exist");
  CHECK(message("$region0:\n  #allocation1 [shape = 'u32[]', space=sm\n") ==
        "x:2: an allocation has no ']'");
  CHECK(message("$region0:\n  #allocation1 [shape = 'u32[]', size = 0x4, tag = 'it']\n") ==
        "x:2: allocation 1 has no space and size");
  CHECK(
      message("$region0:\n  #allocation1 [space=smem, size = 0x7fffffffffffffff, tag = 'it']\n") ==
      "x:2: allocation 1 has no space and size");
  CHECK(message("$region0:\n  loop: start=0, step=1, limit=2\n  %1 = vnop\n") ==
        "x:2: the loop has no exit");
  // Cuts the pass everywhere from the loop's head to its exit.
  std::string whole = kPass;
  for (size_t cut = whole.find("loop:") + 5; cut < whole.find("    %14"); ++cut) {
    CAPTURE(cut);
    bool is_at_exit = whole.substr(0, cut).ends_with("loop_exit\n      _\n");
    CHECK(message(whole.substr(0, cut)).starts_with("x:") != is_at_exit);
  }
}

TEST_CASE("passes that were mixed up are refused with the line") {
  CHECK(message("$region0:\n  %1 = vnop\n$region0:\n  %1 = vnop\n") ==
        "x:3: region 0 appears twice");
  CHECK(message("$region0:\n  $region1: parent=3\n    _\n") ==
        "x:2: region 1 is not inside the region that it names");
  CHECK(message("$region0:\n  _\n$region1: parent=0\n  _\n") ==
        "x:3: region 1 is not inside the region that it names");
  CHECK(message("$region0:\n      %1 = vnop\n") == "x:2: indented by 6, expected 2");
  CHECK(message("$region0:\n  $region1: parent=0\n  %1 = vnop\n") == "x:3: region 1 is empty");
  CHECK(message("%1 = vnop\n") == "x:1: the line is in no region");
  CHECK(message("$region0:\n  0x12 : > { %1 = vnop }\n") ==
        "x:2: not a line of a pass: '0x12 : > { %1 = vnop }'");
  CHECK(message("$region0:\n  %1\n") == "x:2: not an instruction: '%1'");
  std::string memories;
  for (int i = 0; i < 65; ++i)
    memories += "  #allocation" + std::to_string(i) + " [space=m" + std::to_string(i) +
                ", size = 4, tag = 'it']\n";
  CHECK(message("$region0:\n" + memories) == "x:66: too many memories");
  std::string slot = "  #allocation1 [space=smem, size = 0x4, tag = 'it']\n";
  CHECK(message("$region0:\n" + slot + slot) == "x:3: allocation 1 appears twice");
}

TEST_CASE("an allocation lives as long as its region in the schedule") {
  auto ranges = live_ranges(
      "= control target key start\n"
      "LB: loop body\n"
      "\n"
      "     0   :  { /* Start region 0 */ %1 = vnop /* it\n goes { on */  }\n"
      "   0x1 LB: > { /* Start/End empty region 3 :: Start region 4 :: Start region 5 */ }\n"
      "   0xf   : > { /* End region 4 */ %2 = vnop  ;;  /* Start region 6 */  }\n"
      "  0x10 PF: > { %2 = vnop }\n"
      "/* End region 5 :: End region 0 */\n"
      " /* End region 9 */\n");
  REQUIRE(ranges.size() == 4);
  auto is = [&](uint32_t region, uint32_t first, uint32_t last) {
    return ranges.contains(region) && ranges[region].first == first && ranges[region].last == last;
  };
  CHECK(is(0, 0, 16));
  CHECK(is(3, 1, 1));
  CHECK(is(4, 1, 15));
  CHECK(is(5, 1, 16));
}
