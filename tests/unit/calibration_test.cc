// Tests of calibration: it recovers constants from times that were computed with these constants.
#include "engine/ir/model/calibration.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/catch.h"

using namespace evolve;
using namespace evolve::ir;

namespace {

Device start() {
  return *find_device("tpu7x");
}

// Returns a program that works for `work` cycles, then waits for `bytes` bytes and for the latency
// of `waits` transfers.
Observation program(double work, double bytes, double waits, const std::string& group) {
  Observation out;
  out.group = group;
  out.cycles = [=](const Device& device) -> Result<double> {
    return work + (bytes / device.hbm_bytes_per_second + waits * device.dma_latency_seconds) *
                      device.clock_hz;
  };
  return out;
}

// Returns times of programs on a device. Each time is too long or too short by the share `noise`,
// without a pattern.
std::vector<Observation> measured_on(const Device& device, double noise) {
  std::vector<Observation> out;
  for (double scale : {1.0, 2.0, 5.0, 11.0, 30.0}) {
    std::string group = std::to_string(scale);
    for (auto [work, bytes, waits] : {std::tuple(2e5, 1e6, 3.0), std::tuple(1e4, 9e8, 5.0),
                                      std::tuple(1e4, 1e6, 900.0), std::tuple(3e5, 4e8, 90.0)}) {
      out.push_back(program(work * scale, bytes * scale, waits * scale, group));
      double cycles = *out.back().cycles(device);
      int sign = out.size() * 37 % 11 % 2 == 0 ? 1 : -1;
      out.back().seconds = cycles / device.clock_hz * (1 + sign * noise);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("constants are found again in the times that they make") {
  Device other = start();
  other.clock_hz = 2.0e9;
  // At that clock, both constants are on the search's grid, so the search can find them exactly.
  other.dma_latency_seconds = start().dma_latency_seconds * 2 * start().clock_hz / other.clock_hz;
  other.hbm_bytes_per_second =
      start().hbm_bytes_per_second * std::exp2(-0.25) * other.clock_hz / start().clock_hz;
  auto found = calibrate(start(), measured_on(other, 0));
  INFO((found ? "" : found.error().message));
  REQUIRE(found);
  CHECK(found->device.clock_hz == Approx(other.clock_hz));
  CHECK(found->device.dma_latency_seconds == Approx(other.dma_latency_seconds));
  CHECK(found->device.hbm_bytes_per_second == Approx(other.hbm_bytes_per_second));
  CHECK(found->error_before > 0.1);
  CHECK(found->error == Approx(0).margin(1e-9));
  CHECK(found->error_unseen == Approx(0).margin(1e-9));
  CHECK(found->rank_correlation == Approx(1));
}

TEST_CASE("noise is in the error, and a constant without evidence is not taken to be known") {
  auto found = calibrate(start(), measured_on(start(), 0.05));
  REQUIRE(found);
  CHECK(found->device.clock_hz == Approx(start().clock_hz).epsilon(0.06));
  CHECK(found->error == Approx(0.05).epsilon(0.2));
  CHECK(found->error_unseen >= found->error);
  CHECK(found->device.error == 2 * found->error_unseen);
}

TEST_CASE("a constant that no time shows stays as it is") {
  // The programs never wait, so any latency and bandwidth fit.
  std::vector<Observation> all = {program(1e5, 0, 0, "a"), program(2e5, 0, 0, "b")};
  for (Observation& one : all) one.seconds = *one.cycles(start()) / 1.5e9;
  auto found = calibrate(start(), all);
  REQUIRE(found);
  CHECK(found->device.clock_hz == Approx(1.5e9));
  CHECK(found->device.dma_latency_seconds == Approx(start().dma_latency_seconds).epsilon(0.1));
  CHECK(found->device.hbm_bytes_per_second == Approx(start().hbm_bytes_per_second).epsilon(0.05));
}

TEST_CASE("a device takes the constants of its own file, and no others") {
  const nlohmann::json found = {{"device", "tpu7x"},
                                {"clock_hz", 1e9},
                                {"dma_latency_seconds", 2e-6},
                                {"hbm_bytes_per_second", 3e12},
                                {"error", 0.1}};
  const Device start = *find_device("tpu7x");
  const auto device = with_constants(start, found);
  REQUIRE(device);
  CHECK(device->clock_hz == 1e9);
  CHECK(device->dma_latency_seconds == 2e-6);
  CHECK(device->hbm_bytes_per_second == 3e12);
  CHECK(device->error == 0.1);
  CHECK(device->peak_flops == start.peak_flops);
  CHECK(with_constants(*find_device("v6e"), found).error().message == "no constants for v6e");
  for (const char* key : {"clock_hz", "dma_latency_seconds", "hbm_bytes_per_second", "error"}) {
    nlohmann::json bad = found;
    bad[key] = -1;
    CHECK(with_constants(start, bad).error().message.find(key) != std::string::npos);
    bad.erase(key);
    CHECK_FALSE(with_constants(start, bad));
  }
  CHECK_FALSE(with_constants(start, nlohmann::json::array()));
}

TEST_CASE("times that teach nothing are refused") {
  std::vector<Observation> all = {program(1e5, 0, 0, "a"), program(2e5, 0, 0, "a")};
  for (Observation& one : all) one.seconds = 1;
  CHECK(calibrate(start(), all).error().message.find("two groups") != std::string::npos);
  all[1].group = "b";
  all[1].seconds = 0;
  CHECK(calibrate(start(), all).error().message == "0 s is not a measured time");
  all[1].seconds = 1e-320;
  CHECK_FALSE(calibrate(start(), all));
  all[1] = program(0, 0, 0, "b");
  all[1].seconds = 1;
  CHECK(calibrate(start(), all).error().message == "no part of 'b' runs in the model");
}
