#include "engine/ir/program.h"

#include <string_view>

namespace evolve::ir {

namespace {

constexpr std::string_view kSchedule = "/packed-bundles-post-ra.txt";
constexpr std::string_view kTopLevel = "TLP";

}  // namespace

double ProgramRun::cycles() const {
  double sum = 0;
  for (const KernelRun& kernel : kernels) sum += kernel.simulation.cycles;
  return sum;
}

Result<ProgramRun> run_program(const Dumps& dumps, const Device& device) {
  ProgramRun run;
  for (const auto& [path, text] : dumps) {
    if (!path.ends_with(kSchedule)) continue;
    std::string name = path.substr(0, path.size() - kSchedule.size());
    auto schedule = parse_schedule(text, name);
    if (!schedule) return std::move(schedule).error();
    auto simulation =
        name == kTopLevel ? simulate_top_level(*schedule, device) : simulate(*schedule, device);
    if (!simulation) return std::move(simulation).error();
    run.kernels.push_back({name, schedule->bundles.size(), *std::move(simulation)});
  }
  if (run.kernels.empty()) return failed("the dumps hold no schedule");
  return run;
}

}  // namespace evolve::ir
