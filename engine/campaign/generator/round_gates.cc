#include "engine/campaign/generator/round_gates.h"

#include <fmt/format.h>

#include "engine/search/judging.h"
#include "engine/search/variant.h"

namespace evolve {

namespace {

std::string gate_file(const std::string& folder, const std::string& before) {
  return fmt::format("{}/gate-{}.json", folder, before);
}

// The edge behind which a variant is worked on that nothing has turned down so far.
EdgeText gate(const CampaignShape& shape, int number, const std::string& before) {
  const std::string id = variant_id(number);
  const std::string folder = "$work/" + variant_folder(shape, number);
  EdgeText edge;
  edge.rule = "gate";
  edge.outputs = {gate_file(folder, before)};
  edge.inputs = {"$work/spec.json", folder + "/variant.json"};
  const std::vector<JudgedCase> cases = judged_cases(shape, number);
  for (const StepReport& report : judging_reports(cases, judged_before(before))) {
    edge.inputs.push_back(fmt::format("{}/{}/{}", folder, report.case_name, report.file));
  }
  std::string flags = fmt::format("--spec $work/spec.json --variant-dir {} --before {} --out {}",
                                  folder, before, edge.outputs.front());
  if (!cases.empty() && cases.front().must_be_new) flags += " --must-be-new";
  edge.implicit = {"$steps/gate"};
  edge.bindings = {{"subject", fmt::format("{} {}", id, before)}, {"flags", flags}};
  return edge;
}

}  // namespace

std::string checks_gate(const std::string& folder) {
  return gate_file(folder, "checks");
}

std::string compile_gate(const std::string& folder) {
  return gate_file(folder, "compile");
}

void write_gates(const CampaignShape& shape, int number, ManifestText& text) {
  text.add(gate(shape, number, "checks"));
  text.add(gate(shape, number, "compile"));
}

std::string write_seed_gate(const CampaignShape& shape, ManifestText& text) {
  EdgeText edge = gate(shape, 0, "rounds");
  edge.bindings.back().second += " --seed " + path_word(shape.seed);
  text.add(edge);
  return edge.outputs.front();
}

}  // namespace evolve
