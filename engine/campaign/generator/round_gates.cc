#include "engine/campaign/generator/round_gates.h"

#include <fmt/format.h>

#include "engine/search/judging.h"
#include "engine/search/variant.h"

namespace evolve {

namespace {

std::string gate_file(const std::string& folder, const std::string& before) {
  return fmt::format("{}/gate-{}.json", folder, before);
}

// Returns the edge that opens the stage `before` for a variant that nothing has rejected so far.
StepEdge gate(const CampaignShape& shape, int number, const std::string& before) {
  const std::string id = VariantId(number).text();
  const std::string folder = "$work/" + variant_folder(shape, number);
  StepEdge edge("gate", fmt::format("{} {}", id, before));
  edge.in("spec", "$work/spec.json")
      .flag("variant-dir", folder)
      .flag("before", before)
      .out("out", gate_file(folder, before))
      .reads(folder + "/variant.json");
  const std::vector<JudgedCase> cases = judged_cases(shape, number);
  for (const StepReport& report : judging_reports(cases, judged_before(before))) {
    edge.reads(fmt::format("{}/{}/{}", folder, report.case_name, report.file));
  }
  if (!cases.empty() && cases.front().must_be_new) edge.flag("must-be-new");
  return edge;
}

}  // namespace

std::string checks_gate(const std::string& folder) {
  return gate_file(folder, "checks");
}

std::string compile_gate(const std::string& folder) {
  return gate_file(folder, "compile");
}

void write_gates(const CampaignShape& shape, int number, StepText& text) {
  text.add(gate(shape, number, "checks"));
  text.add(gate(shape, number, "compile"));
}

std::string write_seed_gate(const CampaignShape& shape, StepText& text) {
  StepEdge edge = gate(shape, 0, "rounds");
  text.add(edge.flag("seed", path_word(shape.files.seed)));
  return edge.outputs().front();
}

}  // namespace evolve
