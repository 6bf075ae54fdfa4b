// Step trace, without a device: the modelled timeline in Chrome's trace format.
#include "engine/ir/timeline.h"
#include "engine/steps/compiled.h"

int main(int argc, char** argv) {
  using namespace evolve;
  steps::CommandLine line("modelled timeline of a compiled program", "trace");
  std::string report, dumps, target, operands, constants, out;
  line.add("--compile", report, "the compile step's report").required();
  line.add("--dumps", dumps, "its dumps").required();
  line.add("--target", target, "the device").required();
  line.add("--operands", operands, "what the kernels are given; a baseline has none");
  line.add("--constants", constants, "of the device's model, in place of those that it has");
  line.add("--out", out, "timeline.json").required();
  return line.run(argc, argv, [&]() -> Status {
    auto compiled = steps::read_compiled(report, dumps, operands, target, constants);
    if (!compiled) return std::move(compiled).error();
    if (const auto* reason = std::get_if<nlohmann::json>(&compiled->run)) {
      nlohmann::json empty = {{"traceEvents", nlohmann::json::array()}, {"otherData", *reason}};
      return steps::write_json(out, empty);
    }
    nlohmann::json timeline =
        ir::write_timeline(std::get<ir::ProgramRun>(compiled->run), compiled->device);
    return world::write_file_atomic(out, timeline.dump() + "\n");
  });
}
