// Step analyze: from the compiler's dumps to facts: bundles, utilisation, spills, VMEM, DMA,
// modelled time.
#include "engine/ir/facts.h"
#include "engine/steps/compiled.h"

int main(int argc, char** argv) {
  using namespace evolve;
  steps::CommandLine line("facts of a compiled program", "analyze");
  std::string report, dumps, cost, target, operands, constants, out;
  line.add("--compile", report, "the compile step's report").required();
  line.add("--dumps", dumps, "its dumps").required();
  line.add("--cost", cost, "FLOPs and bytes of the case").required();
  line.add("--target", target, "the device").required();
  line.add("--operands", operands, "what the kernels are given; a baseline has none");
  line.add("--constants", constants, "of the device's model, in place of those that it has");
  line.add("--out", out, "facts.json").required();
  return line.run(argc, argv, [&]() -> Status {
    auto compiled = steps::read_compiled(report, dumps, operands, target, constants);
    if (!compiled) return std::move(compiled).error();
    if (const auto* reason = std::get_if<nlohmann::json>(&compiled->run))
      return steps::write_json(out, *reason);
    auto formulas = steps::read_json(cost);
    if (!formulas) return std::move(formulas).error();
    ir::Cost of_case{formulas->value("flops", 0.0), formulas->value("bytes", 0.0)};
    auto facts = ir::write_facts(std::get<ir::ProgramRun>(compiled->run), compiled->dumps, of_case,
                                 compiled->device);
    if (!facts) return std::move(facts).error();
    return steps::write_json(out, *facts);
  });
}
