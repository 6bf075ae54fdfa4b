// Step trace, without a device: the modelled timeline in Chrome's trace format.
#include "engine/core/json_text.h"
#include "engine/ir/timeline.h"
#include "engine/steps/compiled.h"

int main(int argc, char** argv) {
  using namespace evolve;
  steps::CommandLine line("trace", "write the modelled timeline of a compiled program");
  steps::CompiledFiles files;
  files.add_options(line);
  // Writes a timeline without events, and the reason for that.
  const auto write_empty = [&](const nlohmann::json& reason) {
    return steps::write_json(files.out,
                             {{"traceEvents", nlohmann::json::array()}, {"otherData", reason}});
  };
  const auto work = [&]() -> Status {
    TRY_ASSIGN(auto compiled, steps::read_compiled(files));
    if (const auto* reason = std::get_if<nlohmann::json>(&compiled.run))
      return write_empty(*reason);
    nlohmann::json timeline =
        ir::write_timeline(std::get<ir::ProgramRun>(compiled.run), compiled.device);
    return world::write_file_atomic(files.out, json_line(timeline) + "\n");
  };
  return steps::run_step(line, argc, argv,
                         [&] { return steps::judge_compiled(work, write_empty); });
}
