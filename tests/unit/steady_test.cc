// Tests of loops that the model adds up instead of walking them: the result is the same.
#include "engine/ir/model/steady.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/catch.h"
#include "tests/toy_device.h"

using namespace evolve;
using namespace evolve::ir;

namespace {

void same_as_walked(const Schedule& schedule, const Device& device, const Parameters& parameters) {
  auto run = simulate(schedule, device, parameters);
  auto walked = simulate(schedule, device, parameters, {kMostBundlesWalked, false});
  INFO((walked ? "" : walked.error().message));
  REQUIRE(walked);
  REQUIRE(run);
  CHECK(run->bundles == walked->bundles);
  CHECK(run->executed == walked->executed);
  CHECK(run->opcodes == walked->opcodes);
  CHECK(run->loads == walked->loads);
  CHECK(run->stores == walked->stores);
  CHECK(run->load_bytes == walked->load_bytes);
  CHECK(run->store_bytes == walked->store_bytes);
  CHECK(run->steps == walked->steps);
  REQUIRE(run->traffic.size() == walked->traffic.size());
  for (const auto& [operand, traffic] : walked->traffic) {
    const Traffic& added = run->traffic.at(operand);
    CHECK(added.loads == traffic.loads);
    CHECK(added.load_bytes == traffic.load_bytes);
    CHECK(added.stores == traffic.stores);
    CHECK(added.store_bytes == traffic.store_bytes);
    CHECK(added.wait_cycles == Approx(traffic.wait_cycles).epsilon(1e-9));
  }
  CHECK(run->cycles == Approx(walked->cycles).epsilon(1e-9));
  CHECK(run->stall_cycles == Approx(walked->stall_cycles).epsilon(1e-9));
  CHECK(run->latency_cycles == Approx(walked->latency_cycles).epsilon(1e-9));
}

void same_as_walked(const std::string& text, const Parameters& parameters = {}) {
  auto schedule = parse_schedule(text, "toy");
  INFO((schedule ? "" : schedule.error().message));
  REQUIRE(schedule);
  same_as_walked(*schedule, kToy, parameters);
}

// Returns a loop of `passes` passes. `body` reads the pass number from %s3 and may use names from
// %s20 on.
std::string loop(uint32_t passes, const std::string& body) {
  return fmt::format(
      " 0 : {{ %s1_s1 = smov 0 ;; %11 = sst [smem:[#allocation9]] 7 }}\n"
      " 0x1 LB: > {{ %s3_s1 = sphi %s1_s1, %s4_s1 }}\n"
      " 0x2 : {{ {} }}\n"
      " 0x3 : {{ %s4_s1 = sadd.s32 1, %s3_s1 }}\n"
      " 0x4 : {{ %p5_p0 = scmp.lt.s32.totalorder %s4_s1, {} }}\n"
      " 0x5 : {{ %6 = sbr.rel (%p5_p0) target bundleno = 1 (0x1) }}\n"
      " 0x6 : {{}}\n 0x7 : {{}}\n",
      body, passes);
}

}  // namespace

TEST_CASE("a loop of fifty million passes is added up") {
  // The simulator walks at most 10,000 bundles here, but the loop has 350 million.
  auto schedule = parse_schedule(loop(50'000'000, "%v1_v1 = vadd.f32 %v2_v2, %v3_v3"), "toy");
  REQUIRE(schedule);
  auto run = simulate(*schedule, kToy, {}, {10'000, true});
  REQUIRE(run);
  CHECK(run->bundles == 1 + 7 * uint64_t{50'000'000});
  CHECK(run->steps == 50'000'000 - 1);
}

TEST_CASE("what is counted in loops is what is counted by walking") {
  const char* move =
      "%20 = dma.hbm_to_vmem {}, {}, 0, [#allocation2] ;; %21 = dma.done.wait [#allocation2], {} "
      ";; "
      "%22 = vsyncadd [#allocation2], -{}";
  for (const std::string& body : {
           std::string("%v1_v1 = vadd.f32 %v2_v2, %v3_v3"),
           fmt::format(fmt::runtime(move), 0, 5, 5, 5),
           // Every eighth pass moves something.
           std::string(
               "%s20_s2 = sand.u32 7, %s3_s1 ;; %p21_p1 = scmp.eq.s32.totalorder %s20_s2, 0 "
               ";; %22 = dma.hbm_to_vmem (%p21_p1), 0, 3, 0, [#allocation3]"),
           // Sizes follow the pass: as it is, divided by 32, or kept between 40 and 60.
           std::string("%20 = dma.hbm_to_vmem 0, %s3_s1, 0, [#allocation3]"),
           std::string("%s20_s2 = sshrl.u32 %s3_s1, 5 ;; %21 = dma.vmem_to_hbm 0, %s20_s2, 0, "
                       "[#allocation3]"),
           std::string("%s20_s2 = smax.s32 %s3_s1, 40 ;; %s21_s3 = smin.s32 60, %s20_s2 ;; %22 = "
                       "dma.vmem_to_hbm 0, %s21_s3, 0, [#allocation3]"),
           // Flags and memory keep a count.
           std::string(
               "%s20_s2 = sld [smem:[#allocation9]] ;; %s21_s3 = sadd.s32 3, %s20_s2 ;; %22 = "
               "sst [smem:[#allocation9]] %s21_s3 ;; %p23_p1 = scmp.gt.s32.totalorder "
               "%s21_s3, 300 ;; %24 = dma.hbm_to_vmem (%p23_p1), 0, 2, 0, [#allocation3]"),
           std::string("%20 = vsyncadd [#allocation3], 1"),
           // Two flags take turns.
           std::string("%s20_s2 = sand.u32 1, %s3_s1 ;; %s21_s3 = scalar_lea.sflag [#allocation4], "
                       "%s20_s2 ;; %22 = dma.hbm_to_vmem 0, 11, 0, %s21_s3 ;; %23 = dma.done.wait "
                       "%s21_s3, 11 ;; %24 = vsyncadd %s21_s3, -11"),
           // Predicated work, and a value that wraps.
           std::string(
               "%p20_p1 = scmp.lt.s32.totalorder %s3_s1, 77 ;; %v21_v1 = vadd.f32 (%p20_p1), "
               "%v2_v2, %v3_v3"),
           std::string("%s20_s2 = smul.u32 100000000, %s3_s1 ;; %p21_p1 = scmp.lt.u32.totalorder "
                       "%s20_s2, 9 ;; %22 = dma.hbm_to_vmem (%p21_p1), 0, 2, 0, [#allocation3]"),
       }) {
    for (uint32_t passes : {1U, 2U, 9U, 30U, 500U}) {
      INFO(body);
      INFO(passes);
      same_as_walked(loop(passes, body));
    }
  }
}

TEST_CASE("compiled kernels are added up as they are walked") {
  namespace fs = std::filesystem;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(EVOLVE_SOURCE) / "tests/data/dumps")) {
    std::string path = entry.path().string();
    if (!path.ends_with("post-ra.txt") || path.find("TLP") != std::string::npos) continue;
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    auto schedule = parse_schedule(text.str(), path);
    REQUIRE(schedule);
    for (uint32_t turns : {0U, 3U, 100'000U})
      same_as_walked(*schedule, *find_device("tpu7x"), {{0, {turns, 1, turns, 7, turns, 1, 3, 2}}});
  }
}

TEST_CASE("an endless loop is an error, added up or not") {
  auto schedule = parse_schedule(
      " 0 : { %2 = sbr.rel target bundleno = 0 (0x0) }\n 0x1 : {}\n 0x2 : {}\n", "toy");
  REQUIRE(schedule);
  auto run = simulate(*schedule, kToy);
  REQUIRE_FALSE(run);
  CHECK(run.error().message.ends_with("the kernel runs too long"));
}
