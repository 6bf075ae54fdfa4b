// Tests of the signals that Glaucis reports, counted from what was executed.
#include "engine/ir/signals.h"

#include <nlohmann/json.hpp>

#include "engine/ir/facts_json.h"
#include "tests/catch.h"

using namespace evolve;
using namespace evolve::ir;

TEST_CASE("signals count what was executed, by the seed system's names") {
  // The program makes two passes, each with two matmuls on one unit and one matmul on the other.
  // Then come a wait and an empty bundle.
  const Dumps dumps = {
      {"k.1/packed-bundles-post-ra.txt",
       " 0 : { %s1_s2 = smov 0 ;; %9 = dma.hbm_to_vmem 0, 100, 0, [#allocation1] }\n"
       " 0x1 : { %s7_s2 = sphi %s1_s2, %s2_s2 ;; %s2_s2 = sadd.s32 1, %s7_s2 ;; %1 = "
       "vmatmul.mubr.bf16.gmra.mrb[0].mxu0 %v1_v1 ;; %2 = vmatmul.mubr.f32.gmra.mrb[0].mxu1 "
       "%v1_v1 }\n"
       " 0x2 : { %p3_p0 = scmp.lt.s32.totalorder %s2_s2, 2 ;; %8 = "
       "vmatmul.mubr.bf16.gmra.mrb[4].mxu0 %v1_v1 }\n"
       " 0x3 : { %4 = sbr.rel (%p3_p0) target bundleno = 1 (0x1), region = 1 }\n"
       " 0x4 : {}\n 0x5 : {}\n 0x6 : {}\n 0x7 : {}\n 0x8 : {}\n 0x9 : {}\n"
       " 0xa : { %6 = dma.done.wait [#allocation1], 100 }\n"}};
  const Device device = *find_device("tpu7x");
  auto run = run_program(dumps, device);
  INFO((run ? "" : run.error().message));
  REQUIRE(run);
  auto facts = facts_of(*run, dumps, {1e6, 3200}, device);
  REQUIRE(facts);
  const nlohmann::json signals = to_json(*facts)["signals"];
  CHECK(signals["mxu_utilization"]["mxu0"] == 4);
  CHECK(signals["mxu_utilization"]["mxu1"] == 2);
  CHECK(signals["mxu_utilization"]["dual_ratio"] == 0.5);
  // A matmul multiplies 16 rows of bf16, or 8 rows of f32, by 256 x 256 elements.
  CHECK(signals["flops"] == 2.0 * 256 * 256 * (4 * 16 + 2 * 8));
  CHECK(signals["hbm_bandwidth_bytes"] == 3200);
  CHECK(signals["vliw_bundle_count"] == 11);
  CHECK(signals["special_units"]["nop_count"] == 12);
  CHECK(signals["bundle_density"]["max_ops_per_bundle"] == 4);
  CHECK(signals["bundle_density"]["total_bundles"] == 1 + 2 * 3 + 1);
  CHECK(signals["dma_analysis"]["dma_sync_count"] == 1);
  CHECK(signals["dma_analysis"]["double_buffering"] == false);
  CHECK(signals["compute_ratio"].get<double>() + signals["memory_transfer_ratio"].get<double>() ==
        Approx(1));
  CHECK(signals["memory_transfer_ratio"] > 0.9);
  CHECK(facts->flops.minimum == 1e6);
}
