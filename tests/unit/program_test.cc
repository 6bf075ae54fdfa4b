// Tests of programs of several modules: which dumps belong to them, and how often each module runs.
#include "engine/ir/model/program.h"

#include "engine/ir/model/cut_names.h"
#include "engine/ir/readers/dump_name.h"
#include "tests/catch.h"
#include "tests/toy_device.h"

using namespace evolve;
using namespace evolve::ir;

namespace {

// A top-level program that calls the kernel three times and a fusion once.
constexpr const char* kTopLevelText =
    " 0 : { %s1_s0 = smov 0 }\n"
    " 0x1 LB: > { %5 = inlined_call %s9_s9 /* %k.1 = custom-call(%a, %b) */ ;; %s2_s0 = sphi "
    "%s1_s0, %s3_s0 }\n"
    " 0x2 : { %s3_s0 = sadd.s32 1, %s2_s0 }\n"
    " 0x3 : { %p4_p0 = scmp.lt.s32.totalorder %s3_s0, 3 }\n"
    " 0x4 : { %6 = sbr.rel (%p4_p0) target bundleno = 1 (0x1) }\n"
    " 0x5 : {}\n 0x6 : {}\n"
    " 0x7 : { %7 = inlined_call %s9_s9 /* %fusion.3 = s32[8]{0} fusion() */ }\n"
    " 0x8 : { %8 = inlined_call /* <late-finalization> */ }\n";

// A kernel that starts a transfer of as many granules as its operand says, and waits for the
// transfer.
constexpr const char* kKernelText =
    " 0 : { %s1_s0 = inlined_call_operand.<no memory space> [shape: s32[], index: 0, kind: input] "
    "}\n"
    " 0x1 : { %2 = dma.hbm_to_vmem 0, %s1_s0, 0, [#allocation1] }\n"
    " 0x2 : { %3 = dma.done.wait [#allocation1], %s1_s0 }\n";

Dumps toy_dumps() {
  return {{"TLP/packed-bundles-post-ra.txt", kTopLevelText},
          {"k.1/packed-bundles-post-ra.txt", kKernelText},
          {"fusion.3/packed-bundles-post-ra.txt", " 0 : {}\n 0x1 : {}\n"}};
}

}  // namespace

TEST_CASE("modules run as often as they are called") {
  auto run = run_program(toy_dumps(), kToy, {{{"k", {{1, {{0, {50}}}}}}}});
  INFO((run ? "" : run.error().message));
  REQUIRE(run);
  REQUIRE(run->kernels.size() == 3);
  CHECK(run->kernels[0].name == "TLP");
  CHECK(run->kernels[1].name == "fusion.3");
  CHECK(run->kernels[1].times == 1);
  CHECK(run->kernels[2].times == 3);
  double kernel = 1 + 50 + 10 + 1;
  CHECK(run->kernels[2].simulation.cycles == kernel);
  CHECK(run->cycles() == run->kernels[0].simulation.cycles + 2 + 3 * kernel);
  CHECK(run->not_modelled.empty());
}

TEST_CASE("runs of a kernel may differ") {
  auto run = run_program(toy_dumps(), kToy, {{{"k.1", {{1, {{0, {50}}}}, {2, {{0, {100}}}}}}}});
  REQUIRE(run);
  // The kernel runs as often as the input says, whatever the top-level program seems to call.
  REQUIRE(run->kernels.size() == 4);
  CHECK(run->kernels[3].times == 2);
  CHECK(run->kernels[3].simulation.cycles == run->kernels[2].simulation.cycles + 50);
}

TEST_CASE("a kernel that cannot be followed is an error, a module of XLA is named") {
  auto unknown = run_program(toy_dumps(), kToy);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().message ==
        "k.1:2: the model cannot follow: a DMA with an unknown size or flag");
  Dumps dumps = toy_dumps();
  dumps["fusion.3/packed-bundles-post-ra.txt"] = " 0 : { %6 = dma.done.wait [#allocation2], 1 }\n";
  ProgramInput input = {{{"", {{1, {{0, {50}}}}}}}};
  auto run = run_program(dumps, kToy, input);
  REQUIRE(run);
  CHECK(run->not_modelled ==
        std::map<std::string, std::string>{
            {"fusion.3", "fusion.3:1: the model cannot follow: a wait that no DMA ends"}});
  dumps.erase("fusion.3/packed-bundles-post-ra.txt");
  run = run_program(dumps, kToy, input);
  REQUIRE(run);
  CHECK(run->not_modelled.contains("fusion.3"));
}

TEST_CASE("the HLO text says which modules are kernels, and which are compiled once") {
  Dumps dumps = toy_dumps();
  dumps["TLP/hlo.txt"] =
      "ENTRY %main (a: s32[]) -> s32[] {\n  %a = s32[] parameter(0)\n"
      "  %fusion.3 = s32[8]{0} custom-call(%a), custom_call_target=\"tpu_custom_call\"\n"
      "  %k.1 = s32[8]{0} custom-call(%a), custom_call_target=\"Other\"\n"
      "  %k.2 = s32[8]{0} custom-call(%a), custom_call_target=\"Other\", metadata={op_name=\"x\"}\n"
      "}\n";
  auto run = run_program(dumps, kToy);
  REQUIRE(run);
  // The time of one of XLA's own modules is estimated from its bytes: 8 words and one word at 32
  // bytes per cycle, plus the latency.
  CHECK(run->estimated.at("k.1") ==
        "k.1:2: the model cannot follow: a DMA with an unknown size or flag");
  CHECK(run->not_modelled.empty());
  REQUIRE(run->kernels.back().name == "k.1");
  CHECK(run->kernels.back().times == 3);
  CHECK(run->kernels.back().simulation.cycles == 10 + (32 + 4) / 32.0);
  // If the module multiplies matrices and the products take longer, its time is that of the
  // products.
  Dumps multiplies = dumps;
  std::string& hlo = multiplies["TLP/hlo.txt"];
  hlo.insert(0,
             "%inner (p: f32[8,4096]) -> f32[8,8] {\n  %p = f32[8,4096]{1,0} parameter(0)\n"
             "  ROOT %d = f32[8,8]{1,0} dot(%p, %p), lhs_contracting_dims={1}\n}\n");
  hlo.replace(hlo.find("\"Other\""), 7, "\"Other\", called_computations=%inner");
  run = run_program(multiplies, kToy);
  REQUIRE(run);
  const Simulation& product = run->kernels.back().simulation;
  CHECK(product.cycles == Approx(2.0 * 8 * 8 * 4096 / kToy.peak_flops * kToy.clock_hz));
  CHECK(product.stall_cycles == 10 + (32 + 4) / 32.0);
  // k.1 is compiled only as k.2, which therefore also runs for the calls of k.1.
  dumps["k.2/packed-bundles-post-ra.txt"] = " 0 : {}\n";
  dumps.erase("k.1/packed-bundles-post-ra.txt");
  std::string& text = dumps["TLP/packed-bundles-post-ra.txt"];
  text.replace(text.find("/* <late-finalization> */"), 25, "/* %k.2 = custom-call(%a) */");
  run = run_program(dumps, kToy);
  REQUIRE(run);
  CHECK(run->not_modelled.empty());
  CHECK(run->kernels.back().name == "k.2");
  CHECK(run->kernels.back().times == 1 + 3);
  dumps["TLP/hlo.txt"] = "ENTRY %main (a: s32[]) -> s32[] {\n";
  CHECK(run_program(dumps, kToy).error().message == "TLP/hlo.txt:1: a computation does not end");
}

TEST_CASE("the name of a dump says what it is") {
  auto name = read_dump_name("/d/1795374126064195520-twice.1-62-packed-bundles-post-ra.txt");
  REQUIRE(name);
  CHECK(name->stamp == 1795374126064195520);
  CHECK(name->module == "twice.1");
  CHECK(name->stage == "packed-bundles-post-ra.txt");
  name = read_dump_name("17-dynamic-update-slice.4-9-final_bundles.txt");
  REQUIRE(name);
  CHECK(name->module == "dynamic-update-slice.4");
  CHECK(name->stage == "final_bundles.txt");
  name = read_dump_name("17-TLP-hlo.txt");
  REQUIRE(name);
  CHECK(name->module == "TLP");
  CHECK(name->stage == "hlo.txt");
  name = read_dump_name("d/gmm.1/final_bundles.txt");
  REQUIRE(name);
  CHECK(name->module == "gmm.1");
  // Names may lack time stamps.
  name = read_dump_name("d/gmm.1-62-packed-bundles-post-ra.txt");
  REQUIRE(name);
  CHECK(name->module == "gmm.1");
  CHECK(name->stage == "packed-bundles-post-ra.txt");
  name = read_dump_name("d/TLP-hlo.txt");
  REQUIRE(name);
  CHECK(name->module == "TLP");
  CHECK(name->stamp == 0);
  // A name that was cut has a hash before the number.
  name = read_dump_name("17-gmm-10412898245618000249-01-packed-bundles-post-ra.txt");
  REQUIRE(name);
  CHECK(name->module == "gmm-10412898245618000249");
  CHECK_FALSE(read_dump_name("17-<late-finalization>-60-final_bundles.txt"));
  CHECK_FALSE(read_dump_name("readme.md"));
  CHECK_FALSE(read_dump_name("notes.txt"));
}

TEST_CASE("a module's name that was cut is found again") {
  const std::string begin(150, 'k');
  const Dumps dumps = {
      {begin + "kk-9838465777662305149/packed-bundles-post-ra.txt", ""},
      {begin + "-18140549408135679564/vmem.txt", ""},
      {"m.1-18140549408135679564/vmem.txt", ""},
      {"TLP/all-fingerprints.txt", "D8=:i=2:c=0:a=0:b=1 " + begin + "kkk.1\n"},
      {"TLP/hlo.txt",
       "  %" + begin + "kkk.1 = f32[8] custom-call(%m.1)\n  %m.1 = f32[8] copy(%x)\n"}};
  const auto whole = with_whole_names(dumps, whole_names(dumps));
  CHECK(whole.contains(begin + "kkk.1/packed-bundles-post-ra.txt"));
  CHECK(whole.contains(begin + "kkk.1/vmem.txt"));
  CHECK(whole.contains("m.1-18140549408135679564/vmem.txt"));
  // If two names have this beginning, it is not known which of them was cut.
  Dumps more = dumps;
  more["TLP/hlo.txt"] += "  %" + begin + "kkk.2 = f32[8] custom-call(%m.1)\n";
  CHECK(whole_names(more).empty());
}

TEST_CASE("a folder may have the dumps of several programs") {
  auto programs =
      group_dumps({"30-TLP-9-final_bundles.txt", "10-TLP-9-final_bundles.txt",
                   "20-a.1-9-final_bundles.txt", "10-TLP-hlo.txt", "40-b.1-9-final_bundles.txt"});
  REQUIRE(programs.size() == 2);
  CHECK(programs[0].size() == 3);
  CHECK(programs[0].at("a.1/final_bundles.txt") == "20-a.1-9-final_bundles.txt");
  CHECK(programs[1].size() == 2);
  CHECK(programs[1].contains("b.1/final_bundles.txt"));
}
