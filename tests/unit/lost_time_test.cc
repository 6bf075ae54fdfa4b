// Tests that every cycle of a kernel has one cause.
#include "engine/ir/model/lost_time.h"

#include <numeric>

#include "tests/catch.h"
#include "tests/toy_device.h"

using namespace evolve;
using namespace evolve::ir;

namespace {

CyclesByCause causes(const std::string& text) {
  auto schedule = parse_schedule(text, "toy");
  INFO((schedule ? "" : schedule.error().message));
  REQUIRE(schedule);
  auto simulation = simulate(*schedule, kToy);
  INFO((simulation ? "" : simulation.error().message));
  REQUIRE(simulation);
  CyclesByCause out = lost_time(*schedule, *simulation, kToy);
  CHECK(std::accumulate(out.begin(), out.end(), 0.0) == simulation->cycles);
  return out;
}

double cycles(const CyclesByCause& all, Cause cause) {
  return all[static_cast<size_t>(cause)];
}

}  // namespace

TEST_CASE("a matrix unit is busy for a while after each matmul") {
  std::string text =
      " 0 : { %1 = vmatmul.mubr.bf16.gmra.mrb[0].mxu0 %v1_v1 }\n"
      " 0x1 : {}\n 0x2 : { %v2_v2 = vadd.f32 %v1_v1, %v1_v1 }\n 0x3 : {}\n"
      " 0x4 : { %3 = vmatmul.mubr.f32.gmra.mrb[0].mxu1 %v1_v1 }\n";
  for (int i = 5; i < 10; ++i) text += " " + std::to_string(i) + " : {}\n";
  CyclesByCause all = causes(text);
  CHECK(cycles(all, Cause::mxu) == 8);
  CHECK(cycles(all, Cause::latency) == 2);
}

TEST_CASE("a matmul takes as long as the device's units take") {
  auto schedule = parse_schedule(" 0 : { %1 = vmatmul.bf16.gmra %v1_v1 }\n", "toy");
  REQUIRE(schedule);
  const Opcode& matmul = schedule->opcodes.front();
  CHECK(matmul_cycles(matmul, *find_device("tpu7x")) == 8);
  CHECK(matmul_cycles(matmul, *find_device("v5e")) == 16);
}

TEST_CASE("bundles without matrix work are vector, spill, scalar or latency") {
  CyclesByCause all = causes(
      " 0 : { %v2_v2 = vadd.f32 %v1_v1, %v1_v1 ;; %4 = vst [vmem:[#allocation1_spill]] %v2_v2 }\n"
      " 0x1 : { %5 = vst [vmem:[#allocation1_spill]] %v2_v2 ;; %s3_s3 = smov 1 }\n"
      " 0x2 : { %s4_s3 = smov 1 }\n 0x3 : {}\n");
  CHECK(cycles(all, Cause::vector) == 1);
  CHECK(cycles(all, Cause::spill) == 1);
  CHECK(cycles(all, Cause::scalar) == 1);
  CHECK(cycles(all, Cause::latency) == 1);
}

TEST_CASE("a wait is for bytes that pass, then for the latency; transfers without a wait drain") {
  CyclesByCause all = causes(
      " 0 : { %1 = dma.hbm_to_vmem 0, 100, 0, [#allocation1] }\n"
      " 0x1 : { %2 = dma.done.wait [#allocation1], 100 }\n"
      " 0x2 : { %3 = dma.vmem_to_hbm 0, 5, 0, [#allocation2] }\n");
  CHECK(cycles(all, Cause::dma_bandwidth) == 99);
  CHECK(cycles(all, Cause::dma_latency) == 10);
  CHECK(cycles(all, Cause::drain) == 5 + 10 - 1);
  CHECK(cycles(all, Cause::scalar) == 3);
}
