#include "engine/campaign/generator/round_select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>

#include "engine/campaign/generator/round_mutate.h"

namespace evolve {

namespace {

std::string seed_folder(const CampaignShape& shape) {
  return "$work/" + variant_folder(shape, 0);
}

std::string joined_variants(const CampaignShape& shape, int round) {
  return fmt::format("{}", fmt::join(variants_of_round(shape, round), ","));
}

// Returns the seed's files that a selection reads.
VariantFiles seed_files(const CampaignShape& shape) {
  const std::string seed = seed_folder(shape);
  VariantFiles out = {{.kind = FileKind::record, .folder = seed},
                      {.kind = FileKind::canonical, .folder = seed}};
  for (const StepReport& report : judging_reports(judged_cases(shape))) {
    if (report.step == "novelty") continue;  // other variants are compared with the seed
    out.push_back({.kind = report_of_step(report.step),
                   .folder = fmt::format("{}/{}", seed, report.case_name)});
  }
  return out;
}

VariantFiles with_seed(const CampaignShape& shape, VariantFiles files) {
  const VariantFiles seed = seed_files(shape);
  files.insert(files.end(), seed.begin(), seed.end());
  return files;
}

// Returns the start of the edge of a step that admits some of a round's variants. The caller adds
// the step's own flags, and then calls end_admission().
StepEdge begin_admission(const CampaignShape& shape, const char* step, int round) {
  StepEdge edge(step, fmt::format("round-{}", round));
  edge.in("spec", "$work/spec.json").flag("top-k", shape.pipeline.select.capacity());
  return edge;
}

// Adds the edge's outputs: a report on all of the round's variants, and for each variant a report
// that says whether it is admitted.
void end_admission(const CampaignShape& shape, int round, StepEdge& edge) {
  const std::string folder = round_folder(round);
  edge.flag("variants", joined_variants(shape, round))
      .flag("round-dir", folder)
      .out("out", fmt::format("{}/{}.json", folder, edge.step()));
  for (const std::string& id : variants_of_round(shape, round))
    edge.writes(fmt::format("{}/{}/{}.json", folder, id, edge.step()));
  if (round > 1) edge.in("previous", round_folder(round - 1) + "/selection.json");
  if (shape.pipeline.mutate.least_distance) edge.flag("must-be-new");
}

// Adds the settings that the rule's policy reads.
void add_rule(const CampaignShape& shape, StepEdge& edge) {
  const search::SelectionRule& rule = shape.pipeline.select;
  search::visit_settings(rule, [&](const search::RuleSetting& setting, const auto& value) {
    if (*setting.policy != '\0' && rule.policy != setting.policy) return;
    std::string flag = setting.name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, bool>) {
      if (value) edge.flag(flag);
    } else {
      edge.flag(flag, value);
    }
  });
  // Only this policy draws random numbers.
  if (rule.policy == "map_elites") edge.flag("random-seed", shape.pipeline.mutate.random_seed);
}

}  // namespace

void write_cut(const CampaignShape& shape, int round, const VariantFiles& files, StepText& text) {
  StepEdge edge = begin_admission(shape, "cut", round);
  edge.flag("margin", *shape.pipeline.time.first_cut)
      .flag("random-seed", shape.pipeline.mutate.random_seed)
      .flag("round", round)
      .flag("seed-dir", seed_folder(shape));
  end_admission(shape, round, edge);
  text.add(edge.reads(
      paths_without(with_seed(shape, files), {FileKind::kernel, FileKind::canonical, FileKind::time,
                                              FileKind::timeline, FileKind::values})));
}

void write_race(const CampaignShape& shape, int round, const VariantFiles& files, StepText& text) {
  StepEdge edge = begin_admission(shape, "race", round);
  edge.flag("finalists", shape.timing.finalists);
  end_admission(shape, round, edge);
  VariantFiles screened = files;
  // The times depend on the race, so the race reads the screening.
  for (VariantFile& file : screened) {
    if (file.kind == FileKind::time) file.kind = FileKind::screening;
  }
  text.add(edge.reads(
      paths_without(screened, {FileKind::kernel, FileKind::canonical, FileKind::timeline})));
}

void write_finalists(const CampaignShape& shape, int round, const VariantFiles& files,
                     StepText& text) {
  StepEdge edge = begin_admission(shape, "finalists", round);
  edge.flag("seed-dir", seed_folder(shape));
  end_admission(shape, round, edge);
  text.add(
      edge.reads(paths_without(with_seed(shape, files), {FileKind::kernel, FileKind::canonical,
                                                         FileKind::timeline, FileKind::values})));
}

void write_select(const CampaignShape& shape, int round, const VariantFiles& files,
                  StepText& text) {
  const std::string folder = round_folder(round);
  const Ancestry before = ancestry_of(shape, round);
  const Ancestry after = ancestry_of(shape, round + 1);
  StepEdge edge("select", fmt::format("round-{}", round));
  edge.in("spec", "$work/spec.json").flag("round", round);
  add_rule(shape, edge);
  edge.flag("variants", joined_variants(shape, round))
      .flag("round-dir", folder)
      .flag("seed-dir", seed_folder(shape))
      .in("seed-kernel", "$work/seed.py")
      .out("out", after.selection)
      .out("history-out", after.history)
      .flag("effect", shape.pipeline.learn.effect)
      .out("learnings-out", after.learnings);
  for (const std::string& lineage : after.lineages) edge.out("lineage-out", lineage);
  for (const std::string& evidence : after.evidence) edge.out("evidence-out", evidence);
  if (!before.selection.empty()) {
    edge.in("previous", before.selection)
        .in("history", before.history)
        .reads(before.lineages)
        .reads(before.evidence);
  }
  if (shape.pipeline.mutate.least_distance) edge.flag("must-be-new");
  if (shape.is_cut()) edge.in("cut", folder + "/cut.json");
  if (!shape.files.learnings.empty()) edge.in("by-person", shape.files.learnings);
  text.add(edge.reads(paths_without(with_seed(shape, files), {FileKind::timeline})));
}

}  // namespace evolve
