// A benchmark of the schedule's reader and of the simulation, in one run with two peers on the same
// bytes. One peer counts lines; the other counts instructions by a search for " = ". Usage:
//
//   ir_bench SCHEDULE [OPERANDS.json]      SCHEDULE: a packed-bundles-post-ra dump
//                                          OPERANDS.json: the operands of its kernel
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/ir/model/lost_time.h"
#include "engine/ir/model/operands.h"
#include "engine/world/files.h"

using namespace evolve;

namespace {

constexpr int kRounds = 9;

// Returns the shortest of several runs, in seconds.
double best_of(const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

template <class T>
T check(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "ir_bench: {}\n", result.error().message);
  std::exit(1);
}

size_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

size_t count_of(const std::string& text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size()))
    ++count;
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: ir_bench SCHEDULE [OPERANDS.json]\n");
    return 2;
  }
  const std::string text = check(world::read_file(argv[1]));
  const ir::Device device = *ir::find_device("tpu7x");
  const size_t before = peak_bytes();
  const ir::Schedule schedule = check(ir::parse_schedule(text, argv[1]));
  const size_t used = peak_bytes() - before;
  ir::Parameters parameters;
  if (argc == 3) {
    const auto document = nlohmann::json::parse(check(world::read_file(argv[2])), nullptr, false);
    const ir::ProgramInput input = check(ir::read_operands(document));
    parameters = check(ir::lay_out(schedule, input.of(schedule).each->front().operands));
  }
  const ir::Simulation run = check(ir::simulate(schedule, device, parameters));
  const auto bytes = static_cast<double>(text.size());
  size_t found = 0;
  const double lines = best_of([&] { found += count_of(text, "\n"); });
  const double instructions = best_of([&] { found += count_of(text, " = "); });
  const double parse =
      best_of([&] { found += check(ir::parse_schedule(text, "x")).bundles.size(); });
  const double simulate =
      best_of([&] { found += check(ir::simulate(schedule, device, parameters)).bundles; });
  const double causes = best_of([&] { found += ir::lost_time(schedule, run, device).size(); });
  fmt::print("{:.2f} MB, {} bundles, {} executed in {:.1f} us ({})\n", bytes / 1e6,
             schedule.bundles.size(), run.bundles, run.cycles / device.clock_hz * 1e6, found);
  fmt::print(
      "parse     {:6.0f} MB/s; counting instructions {:.1f}x, counting lines {:.1f}x of it\n",
      bytes / parse / 1e6, parse / instructions, parse / lines);
  fmt::print("simulate  {:6.0f} million bundles/s\n",
             static_cast<double>(run.bundles) / simulate / 1e6);
  fmt::print("causes    {:6.0f} MB/s\n", bytes / causes / 1e6);
  fmt::print("memory    {:6.1f} times the file\n", static_cast<double>(used) / bytes);
  return 0;
}
