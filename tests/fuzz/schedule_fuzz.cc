// Any bytes as a schedule, which is run where it is one: every cycle has a cause.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "engine/ir/lost_time.h"

using namespace evolve;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kMostBundles = 20'000;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto schedule = ir::parse_schedule(text, "x");
  if (!schedule) {
    if (!schedule.error().message.starts_with("x:")) std::abort();
    return 0;
  }
  const ir::Parameters parameters = {{0, {1, 2, 3, 4}}, {1, {5}}};
  auto run = ir::simulate(*schedule, *ir::find_device("tpu7x"), parameters, kMostBundles);
  if (!run) return 0;
  auto causes = ir::lost_time(*schedule, *run);
  double sum = std::accumulate(causes.begin(), causes.end(), 0.0);
  if (std::fabs(sum - run->cycles) > 1e-6 * run->cycles) std::abort();
  return 0;
}
