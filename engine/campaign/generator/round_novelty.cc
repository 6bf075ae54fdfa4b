#include "engine/campaign/generator/round_novelty.h"

#include <fmt/format.h>

#include "engine/campaign/generator/round_mutate.h"

namespace evolve {

namespace {

// What is read of a variant whose program others are held against.
void read_program(const CampaignShape& shape, const std::string& folder, EdgeText& edge) {
  edge.inputs.push_back(folder + "/variant.json");
  for (const std::string& name : shape.bench_cases) {
    edge.inputs.push_back(fmt::format("{}/{}/lower.json", folder, name));
    edge.inputs.push_back(fmt::format("{}/{}/jaxpr.json", folder, name));
  }
}

}  // namespace

void write_novelty(const CampaignShape& shape, int round, ManifestText& text) {
  if (!shape.least_distance) return;
  const std::string folder = round_folder(round);
  EdgeText edge;
  edge.rule = "novelty";
  edge.outputs = {folder + "/novelty.json", folder + "/sketches.jsonl"};
  edge.inputs = {"$work/spec.json"};
  std::string flags =
      fmt::format("--spec $work/spec.json --least-distance {}", *shape.least_distance);
  if (const Ancestry before = ancestry_of(shape, round); before.selection.empty()) {
    const std::string seed = "$work/" + variant_folder(shape, 0);
    read_program(shape, seed, edge);
    flags += " --seed-dir " + seed;
  } else {
    edge.inputs.push_back(round_folder(round - 1) + "/sketches.jsonl");
    edge.inputs.push_back(before.history);
    flags += fmt::format(" --previous {} --history {}", *(edge.inputs.end() - 2), before.history);
  }
  std::string variants;
  for (const std::string& id : variants_of_round(shape, round)) {
    const std::string its = fmt::format("{}/{}", folder, id);
    variants += (variants.empty() ? "" : ",") + id;
    read_program(shape, its, edge);
    for (const JudgedCase& one : judged_cases(shape)) {
      edge.inputs.push_back(fmt::format("{}/{}/contract.json", its, one.name));
      edge.outputs.push_back(fmt::format("{}/{}/novelty.json", its, one.name));
    }
  }
  flags += fmt::format(
      " --variants {0} --round-dir {1} --out {1}/novelty.json "
      "--sketches-out {1}/sketches.jsonl",
      variants, folder);
  edge.implicit = {"$steps/novelty"};
  edge.bindings = {{"subject", fmt::format("round-{}", round)}, {"flags", flags}};
  text.add(edge);
}

}  // namespace evolve
