#include "engine/core/round_gates.h"

#include <fmt/format.h>

#include "engine/core/judging.h"

namespace evolve {

namespace {

// The edge behind which a variant is worked on that nothing has turned down so far.
EdgeText gate(const CampaignShape& shape, int number, const std::string& before, Judged judged) {
  const std::string id = variant_id(number);
  const std::string folder = "$work/" + variant_folder(shape, number);
  EdgeText edge;
  edge.rule = "gate";
  edge.outputs = {fmt::format("{}/gate-{}.json", folder, before)};
  edge.inputs = {"$work/spec.json", folder + "/variant.json"};
  std::vector<JudgedCase> cases = judged_cases(shape);
  const bool must_be_new = shape.least_distance && number != 0;
  for (JudgedCase& one : cases) one.must_be_new = must_be_new;
  for (const StepReport& report : judging_reports(cases, judged)) {
    edge.inputs.push_back(fmt::format("{}/{}/{}", folder, report.case_name, report.file));
  }
  std::string flags = fmt::format("--spec $work/spec.json --variant-dir {} --before {} --out {}",
                                  folder, before, edge.outputs.front());
  if (must_be_new) flags += " --must-be-new";
  edge.implicit = {"$steps/gate"};
  edge.bindings = {{"subject", fmt::format("{} {}", id, before)}, {"flags", flags}};
  return edge;
}

}  // namespace

std::string checks_gate(const std::string& folder) {
  return folder + "/gate-checks.json";
}

std::string compile_gate(const std::string& folder) {
  return folder + "/gate-compile.json";
}

void write_gates(const CampaignShape& shape, int number, ManifestText& text) {
  text.add(gate(shape, number, "checks", Judged::before_checks));
  text.add(gate(shape, number, "compile", Judged::before_compile));
}

std::string write_seed_gate(const CampaignShape& shape, ManifestText& text) {
  EdgeText edge = gate(shape, 0, "rounds", Judged::whole);
  edge.bindings.back().second += " --seed " + shell_word(shape.seed);
  text.add(edge);
  return edge.outputs.front();
}

}  // namespace evolve
