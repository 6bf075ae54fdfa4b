#include "engine/campaign/generator/round_novelty.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/campaign/generator/round_mutate.h"

namespace evolve {

namespace {

// Gives an edge the files that describe the programs of a variant.
void read_program(const CampaignShape& shape, const std::string& folder, StepEdge& edge) {
  edge.reads(folder + "/variant.json");
  for (const std::string& name : shape.bench_cases) {
    edge.reads(fmt::format("{}/{}/lower.json", folder, name));
    edge.reads(fmt::format("{}/{}/jaxpr.json", folder, name));
  }
}

}  // namespace

void write_novelty(const CampaignShape& shape, int round, StepText& text) {
  const auto least_distance = shape.pipeline.mutate.least_distance;
  if (!least_distance) return;
  const std::string folder = round_folder(round);
  StepEdge edge("novelty", fmt::format("round-{}", round));
  edge.in("spec", "$work/spec.json").flag("least-distance", *least_distance);
  if (const Ancestry before = ancestry_of(shape, round); before.selection.empty()) {
    const std::string seed = "$work/" + variant_folder(shape, 0);
    read_program(shape, seed, edge);
    edge.flag("seed-dir", seed);
  } else {
    edge.in("previous", round_folder(round - 1) + "/sketches.jsonl").in("history", before.history);
  }
  const std::vector<std::string> variants = variants_of_round(shape, round);
  edge.flag("variants", fmt::format("{}", fmt::join(variants, ",")))
      .flag("round-dir", folder)
      .out("out", folder + "/novelty.json")
      .out("sketches-out", folder + "/sketches.jsonl");
  for (const std::string& id : variants) {
    const std::string own = fmt::format("{}/{}", folder, id);
    read_program(shape, own, edge);
    for (const JudgedCase& one : judged_cases(shape)) {
      edge.reads(fmt::format("{}/{}/contract.json", own, one.name));
      edge.writes(fmt::format("{}/{}/novelty.json", own, one.name));
    }
  }
  text.add(edge);
}

}  // namespace evolve
