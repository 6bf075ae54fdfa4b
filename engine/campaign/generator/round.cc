#include "engine/campaign/generator/round.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/campaign/generator/round_gates.h"
#include "engine/campaign/generator/round_mutate.h"
#include "engine/campaign/generator/round_novelty.h"
#include "engine/campaign/generator/round_select.h"
#include "engine/campaign/generator/round_task.h"
#include "engine/campaign/generator/round_variant.h"
#include "engine/campaign/generator/step_edge.h"

namespace evolve {

namespace {

void write_head(const CampaignShape& shape, StepText& text) {
  text.comment(
      "# All rounds of the campaign. Made by evolve from the pipeline and the spec; the build "
      "runs what\n"
      "# stands here. Included by build.ninja, which binds the paths.\n");
  const auto paths = shape.files.all();
  auto have = [&paths](char c) {
    return std::any_of(paths.begin(), paths.end(),
                       [c](const std::string& path) { return path.find(c) != std::string::npos; });
  };
  if (have('\n')) text.comment("ninja_required_version = 1.14\n");
  if (have('|')) text.comment("bar = |\n");
}

// Adds round 0, which the variants are compared with. XLA's baseline comes first, because it takes
// the longest to compile.
void write_seed(const CampaignShape& shape, StepText& text) {
  VariantFiles files;
  write_baseline(shape, text, files);
  write_seed_variant(text);
  write_variant(shape, 0, text, files);
  write_values(shape, 0, text, files);
  std::vector<std::string> all = all_paths(files);
  all.push_back(write_seed_gate(shape, text));
  all.emplace_back("task");
  text.add_phony("round-0", all);
}

void write_round(const CampaignShape& shape, int round, StepText& text) {
  text.comment(fmt::format("\n# Round {}\n", round));
  const int first = (round - 1) * shape.variants() + 1;
  const int end = first + shape.variants();
  VariantFiles files;
  write_mutators(shape, round, text);
  for (int number = first; number < end; ++number) write_variant(shape, number, text, files);
  write_novelty(shape, round, text);
  if (shape.is_cut()) write_cut(shape, round, files, text);
  if (shape.is_measured()) {
    write_race(shape, round, files, text);
  } else if (has_large_cases(shape)) {
    write_finalists(shape, round, files, text);
  }
  for (int number = first; number < end; ++number) write_values(shape, number, text, files);
  write_select(shape, round, files, text);
  std::vector<std::string> all = all_paths(files);
  all.push_back(fmt::format("round-{}", round - 1));
  all.push_back(round_folder(round) + "/selection.json");
  text.add_phony(fmt::format("round-{}", round), all);
}

}  // namespace

std::string write_rounds(const CampaignShape& shape) {
  StepText text(shape.is_sandboxed, shape.pod_pools);
  write_head(shape, text);
  write_task(shape, text);
  write_seed(shape, text);
  for (int round = 1; round <= shape.rounds(); ++round) write_round(shape, round, text);
  text.comment(fmt::format("\ndefault round-{}\n", shape.rounds()));
  return text.text();
}

}  // namespace evolve
