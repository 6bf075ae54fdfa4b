// A fuzz test of the reader of schedules. A valid schedule is simulated: every cycle has a cause,
// and a place in the text and in the source.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "engine/ir/model/lost_time.h"
#include "engine/ir/model/sections.h"

using namespace evolve;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kMost = 20'000;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto schedule = ir::parse_schedule(text, "x");
  if (!schedule) {
    if (!schedule.error().message.starts_with("x:")) std::abort();
    return 0;
  }
  const ir::Parameters parameters = {{0, {1, 2, 3, 4}}, {1, {5}}};
  const ir::Device device = *ir::find_device("tpu7x");
  auto run = ir::simulate(*schedule, device, parameters, {kMost, true, nullptr, kMost});
  auto walked = ir::simulate(*schedule, device, parameters, {kMost, false, nullptr, kMost});
  // A simulation that adds loops up has the same result as one that walks them.
  if (static_cast<bool>(run) != static_cast<bool>(walked)) std::abort();
  if (!run) return 0;
  bool is_same = run->bundles == walked->bundles && run->executed == walked->executed &&
                 run->opcodes == walked->opcodes && run->loads == walked->loads &&
                 run->steps == walked->steps && run->calls == walked->calls &&
                 std::fabs(run->cycles - walked->cycles) <= 1e-6 * walked->cycles;
  if (!is_same) std::abort();
  auto check = [&](double sum) {
    if (std::fabs(sum - run->cycles) > 1e-6 * run->cycles) std::abort();
  };
  auto causes = ir::lost_time(*schedule, *run, device);
  check(std::accumulate(causes.begin(), causes.end(), 0.0));
  double sum = run->drain_cycles;
  for (const ir::Section& section : ir::sections_of(*schedule, *run, device)) sum += section.cycles;
  check(sum);
  sum = run->drain_cycles;
  for (const auto& [line, cycles] : ir::cycles_by_line(*schedule, *run, device)) sum += cycles;
  if (!schedule->sources.empty()) check(sum);
  return 0;
}
