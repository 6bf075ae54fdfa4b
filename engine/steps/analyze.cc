// Step analyze: from the compiler's dumps to facts: bundles, utilisation, spills, VMEM, DMA,
// modelled time. A candidate whose kernels did less than its case needs is rejected.
#include "engine/ir/facts.h"
#include "engine/steps/compiled.h"
#include "engine/steps/needs.h"

namespace {

using namespace evolve;
using nlohmann::json;

// Puts what the case needs into the facts, and a verdict in place of "ok" where that was not done.
void judge_work(json& facts, const steps::Compiled& compiled, const ir::Needs& needs) {
  const auto& run = std::get<ir::ProgramRun>(compiled.run);
  facts["needed"] = ir::needs_json(needs, compiled.device);
  const json flaw = ir::flaw_of(ir::work_of(run, compiled.device),
                                facts.at("modelled").at("seconds"), needs, compiled.device);
  if (!flaw.is_null()) facts.update(flaw);
}

}  // namespace

int main(int argc, char** argv) {
  steps::CommandLine line("facts of a compiled program", "analyze");
  std::string report, dumps, cost, terms, signature, target, operands, constants, out;
  line.add("--compile", report, "the compile step's report").required();
  line.add("--dumps", dumps, "its dumps").required();
  line.add("--cost", cost, "FLOPs and bytes of the case").required();
  auto given_terms = line.add("--terms", terms, "the case's contract; a baseline has none");
  line.add("--signature", signature, "the case's inputs and outputs").needs(given_terms);
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
    if (!terms.empty()) {
      auto needs = steps::read_needs(*formulas, terms, signature);
      if (!needs) return std::move(needs).error();
      judge_work(*facts, *compiled, *needs);
    }
    return steps::write_json(out, *facts);
  });
}
