// Step analyze: the facts in the compiler's dumps (bundles, utilisation, spills, VMEM, DMA,
// modelled time). It rejects a candidate whose kernels did less than its case needs.
#include "engine/ir/facts_json.h"
#include "engine/steps/compiled.h"
#include "engine/steps/needs.h"

namespace {

using namespace evolve;
using nlohmann::json;

// Adds the needs of the case to the facts. If the kernels did less, a rejection replaces "ok".
void judge_work(ir::Facts& facts, const steps::Compiled& compiled, const ir::Needs& needs) {
  const auto& run = std::get<ir::ProgramRun>(compiled.run);
  facts.needed = ir::needed_facts(needs, compiled.device);
  facts.flaw = ir::flaw_of(ir::work_of(run, compiled.device), facts.modelled.seconds, needs,
                           compiled.device);
}

}  // namespace

int main(int argc, char** argv) {
  steps::CommandLine line("analyze", "write the facts of a compiled program");
  steps::CompiledFiles files;
  std::string cost, terms, signature;
  files.add_options(line);
  line.add("--cost", cost, "FLOPs and bytes of the case").required();
  auto given_terms = line.add("--terms", terms, "the case's contract; not for a baseline");
  line.add("--signature", signature, "the case's inputs and outputs").needs(given_terms);
  const auto write = [&](const json& record) { return steps::write_json(files.out, record); };
  const auto work = [&]() -> Status {
    TRY_ASSIGN(auto compiled, steps::read_compiled(files));
    if (const auto* reason = std::get_if<json>(&compiled.run)) return write(*reason);
    TRY_ASSIGN(auto formulas, steps::read_json(cost));
    ir::SpecCost of_case{formulas.value("flops", 0.0), formulas.value("bytes", 0.0)};
    auto facts = ir::facts_of(std::get<ir::ProgramRun>(compiled.run), compiled.dumps, of_case,
                              compiled.device);
    if (!facts) return write(steps::not_modelled(facts.error().message));
    if (!terms.empty()) {
      TRY_ASSIGN(auto needs, steps::read_needs(formulas, terms, signature));
      judge_work(*facts, compiled, needs);
    }
    return write(ir::to_json(*facts));
  };
  return steps::run_step(line, argc, argv, [&] { return steps::judge_compiled(work, write); });
}
